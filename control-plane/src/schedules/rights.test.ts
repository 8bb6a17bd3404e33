// Whose rights a run has, and what happens when its key has lost them.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { parseId } from "@hawser/contract";
import { addMember } from "@hawser/testkit/add-member.ts";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openFiringBed, type FiringBed, type TestSweep } from "@hawser/testkit/firing-bed.ts";
import { moveRunsToKey } from "./run-store.ts";

let beds: FiringBed;
let node: TestSweep;

before(async () => {
  beds = await openFiringBed();
  node = beds.addSweep();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

const sql = <Row>(text: string, values?: unknown[]) => beds.bed.sql<Row>(text, values);
const sessions = () => sql(`SELECT FROM sessions WHERE deleted_at IS NULL`);

interface Acting {
  key: string;
  userId: string;
}
const asOwner = (action: string, body: object) =>
  beds.node.result(action, body, { key: beds.bed.organization.keys.owner });
const idOf = async (key: string) =>
  (await beds.node.result("whoami", {}, { key }))["apiKeyId"] as string;

/** What happens to the key of a schedule, and what its pause reason says then. */
const losses: [string, (acting: Acting) => Promise<unknown>, RegExp][] = [
  [
    "was revoked",
    async ({ key }) => asOwner("revoke_api_key", { apiKeyId: await idOf(key) }),
    /revoked/,
  ],
  [
    "has expired",
    async ({ key }) =>
      sql(`UPDATE api_keys SET expires_at = hawser_now() WHERE api_key_id = $1`, [
        parseId("apiKey", await idOf(key)),
      ]),
    /expired/,
  ],
  ["belongs to a removed member", ({ userId }) => asOwner("remove_member", { userId }), /left/],
  [
    "belongs to a member who was added again",
    async ({ userId }) => {
      const [user] = await sql<{ email: string }>(`SELECT email FROM users WHERE user_id = $1`, [
        parseId("user", userId),
      ]);
      await asOwner("remove_member", { userId });
      await asOwner("add_member", { email: user!.email, role: "member" });
    },
    /left/,
  ],
  [
    "belongs to a member who may only view",
    ({ userId }) => asOwner("update_member", { userId, role: "viewer" }),
    /lacks the permission sessions:edit/,
  ],
];

for (const [at, [what, lose, reason]] of losses.entries()) {
  test(`a schedule whose key ${what} starts nothing and is paused`, async () => {
    const acting = await addMember(beds.bed, beds.node, { email: `acting-${at}@acme.example` });
    const api_key_id = parseId("apiKey", await idOf(acting.key));
    const scheduleId = await beds.addSchedule({ api_key_id });
    await lose(acting);
    await node.fire();
    const run = await beds.lastRun(scheduleId);
    assert.deepEqual([run.step, run.outcome, run.session_id], ["ended", "failed", null]);
    assert.match(run.failure!, reason);
    const { enabled, next_run_at, pause_reason } = await beds.scheduleOf(scheduleId);
    assert.deepEqual([enabled, next_run_at], [false, null]);
    assert.match(pause_reason!, reason);
    assert.deepEqual([beds.bed.asked, await sessions()], [[], []]);
  });
}

test("a run whose key is gone does not pause a schedule that acts with another key by now", async () => {
  const { organization, service } = beds.bed;
  await makeKey(service.database, organization.organizationId, ["sessions:edit"], { name: "old" });
  const old = await beds.keyNamed("old");
  const scheduleId = await beds.addSchedule({ api_key_id: old });
  await node.claim();
  await sql(`UPDATE api_keys SET revoked_at = hawser_now() WHERE api_key_id = $1`, [old]);
  await sql(`UPDATE schedules SET api_key_id = $1`, [await beds.keyNamed("member")]);
  await node.fire();
  assert.equal((await beds.lastRun(scheduleId)).outcome, "failed");
  assert.equal((await beds.scheduleOf(scheduleId)).enabled, true);
});

test("a run acts as the caller whose key the schedule has", async () => {
  const grace = await addMember(beds.bed, beds.node, { email: "grace@acme.example" });
  const apiKeyId = await idOf(grace.key);
  await beds.addSchedule({ api_key_id: parseId("apiKey", apiKeyId) });
  await node.fire();
  const { author, ownerId } = beds.asked("start_session")[0]!.payload as {
    author: { email: string };
    ownerId: string;
  };
  assert.equal(author.email, "grace@acme.example");
  assert.ok(ownerId.startsWith(`${grace.userId}.`));
  const audited = await sql<{ action: string; outcome: string }>(
    `SELECT action, outcome FROM audit_entries WHERE api_key_id = $1 ORDER BY audit_id`,
    [parseId("apiKey", apiKeyId)],
  );
  assert.deepEqual(
    audited.map(({ action, outcome }) => `${action} ${outcome}`),
    ["start_session accepted", "start_session done", "send_prompt accepted", "send_prompt done"],
  );
});

test("a rotated key hands over the runs that have asked no host yet", async () => {
  const { organization, service, organizationId } = beds.bed;
  const { database } = service;
  for (const name of ["former", "next"])
    await makeKey(database, organization.organizationId, ["sessions:edit"], { name });
  const [former, next] = [await beds.keyNamed("former"), await beds.keyNamed("next")];
  const scheduleId = await beds.addSchedule({ api_key_id: former });
  const other = await beds.addSchedule({ api_key_id: former });
  await node.claim();
  await sql(`UPDATE schedule_runs SET asked = true WHERE schedule_id = $1`, [other]);
  await database.tenant(organizationId).rows(moveRunsToKey, organizationId, former, next);
  const keys = await sql<{ schedule_id: string; api_key_id: string }>(
    `SELECT schedule_id, api_key_id FROM schedule_runs`,
  );
  const keyOf = (id: string) => keys.find(({ schedule_id }) => schedule_id === id)!.api_key_id;
  assert.deepEqual([keyOf(scheduleId), keyOf(other)], [next, former]);
});
