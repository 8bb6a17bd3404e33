// Deliveries to triggers: which of them start a run, once, and which are refused.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, formatId, parseId, type AuditEntry } from "@hawser/contract";
import { openTriggerBed, type TriggerBed } from "@hawser/testkit/trigger-bed.ts";
import {
  githubDelivery,
  githubPayloads as payloads,
  standardDelivery,
  type SignedDelivery,
} from "@hawser/testkit/webhook-sender.ts";
import { statement } from "../postgres/statement.ts";
import { noteForged } from "./forged.ts";

let beds: TriggerBed;

before(async () => {
  beds = await openTriggerBed();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

const sql = <Row>(text: string, values?: unknown[]) => beds.bed.sql<Row>(text, values);
const command = (secret: string, body = "/hawser fix it") =>
  githubDelivery(secret, "issue_comment", payloads.comment(body));

/** The refusal of a delivery that must be refused. */
async function refusalOf(triggerId: string, delivery: SignedDelivery): Promise<Refusal> {
  const received = await beds.send(triggerId, delivery).catch((error: unknown) => error);
  assert.ok(received instanceof Refusal, JSON.stringify(received));
  return received;
}

async function runIdOf(triggerId: string, delivery: SignedDelivery): Promise<string> {
  const received = await beds.send(triggerId, delivery);
  assert.ok("runId" in received, JSON.stringify(received));
  return received.runId;
}

const forgedEntries = () =>
  sql<{ input: { triggerId: string; count: number }; outcome: string }>(
    `SELECT input, outcome FROM audit_entries WHERE action = 'receive_delivery' ORDER BY audit_id`,
  );

test("a delivery that is sent many times at once starts one run", async () => {
  const { trigger, secret, id } = await beds.create();
  const delivery = command(secret);
  const sent = Array.from({ length: 12 }, () => runIdOf(trigger.triggerId, delivery));
  const [first, ...others] = await Promise.all(sent);
  assert.deepEqual([...new Set(others)], [first]);
  assert.equal((await beds.runsOf(id)).length, 1);
  assert.notEqual(await runIdOf(trigger.triggerId, command(secret)), first);
});

test("many deliveries at the same moment start a run each", async () => {
  const { trigger, secret, id } = await beds.create();
  const sent = Array.from({ length: 12 }, () => runIdOf(trigger.triggerId, command(secret)));
  assert.equal(new Set(await Promise.all(sent)).size, 12);
  assert.equal((await beds.runsOf(id)).length, 12);
});

test("a recorded delivery of GitHub starts no second run with another id or event in its header", async () => {
  const { trigger, secret } = await beds.create({ events: ["comment", "issue_opened"] });
  const delivery = command(secret);
  const runId = await runIdOf(trigger.triggerId, delivery);
  const again = { ...delivery, headers: { ...delivery.headers, "x-github-delivery": "another" } };
  assert.equal(await runIdOf(trigger.triggerId, again), runId);
  const other = { ...delivery, headers: { ...delivery.headers, "x-github-event": "issues" } };
  assert.ok("ignored" in (await beds.send(trigger.triggerId, other)));
});

test("a Standard Webhook is the same one if it has the same id", async () => {
  const { trigger, secret } = await beds.create({ source: "json" });
  const send = (id: string, payload: object) =>
    runIdOf(trigger.triggerId, standardDelivery(secret, payload, { id }));
  const first = await send("msg_1", { a: 1 });
  assert.equal(await send("msg_1", { a: 1 }), first);
  assert.notEqual(await send("msg_2", { a: 1 }), first);
});

test("a forged delivery and one to an unknown trigger are refused in the same words, and start nothing", async () => {
  const github = await beds.create();
  const json = await beds.create({ source: "json" });
  const unknown = formatId("trigger", "01a1dcb3-708b-7ba5-8f6d-438dd495d039");
  const paused = await beds.create();
  await beds.update({ triggerId: paused.trigger.triggerId, enabled: false });
  const refusals = [
    await refusalOf(unknown, command(github.secret)),
    await refusalOf("trg_x", command(github.secret)),
    await refusalOf(github.trigger.triggerId, command(json.secret)),
    await refusalOf(paused.trigger.triggerId, command(github.secret)),
    await refusalOf(json.trigger.triggerId, standardDelivery(github.secret, {})),
    await refusalOf(json.trigger.triggerId, command(json.secret)),
    await refusalOf(json.trigger.triggerId, { headers: {}, body: "not JSON" }),
  ];
  for (const { code, message, details } of refusals) {
    assert.deepEqual([code, message, details], ["unauthenticated", refusals[0]!.message, {}]);
  }
  assert.deepEqual(await sql(`SELECT FROM schedule_runs`), []);
});

test("the answer says what else is wrong only to a sender whose signature is right", async () => {
  const { trigger, secret } = await beds.create({ source: "json" });
  const { triggerId } = trigger;
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
  const rows: [expected: RegExp, options: { id?: string; at?: Date }][] = [
    [/webhook-timestamp is 6\d\d seconds behind the time/, { at: ago(620) }],
    [/webhook-timestamp is 5\d\d seconds ahead of the time/, { at: ago(-580) }],
    [/ahead of the time .* in seconds since 1970/, { at: new Date(Date.now() * 1000) }],
    [/webhook-id .* no dot/, { id: "a.1" }],
  ];
  const wrong = await refusalOf(triggerId, standardDelivery("whsec_AAAA", {}));
  for (const [expected, options] of rows) {
    const { code, message } = await refusalOf(triggerId, standardDelivery(secret, {}, options));
    assert.equal(code, "unauthenticated");
    assert.match(message, /^The signature is right, but /);
    assert.match(message, expected);
    const forged = await refusalOf(triggerId, standardDelivery("whsec_AAAA", {}, options));
    assert.equal(forged.message, wrong.message);
  }
  assert.doesNotMatch(wrong.message, /clock|timestamp/);
  assert.deepEqual(await sql(`SELECT FROM schedule_runs`), []);
});

test("the audit trail names an unknown sender, not a host, for a forged delivery", async () => {
  const { trigger } = await beds.create();
  await refusalOf(trigger.triggerId, command("whsec_x"));
  const { keys } = beds.bed.organization;
  const { entries } = await beds.bed
    .addNode()
    .result("list_audit_entries", {}, { key: keys.owner });
  const forged = (entries as AuditEntry[]).find(({ action }) => action === "receive_delivery");
  assert.deepEqual(forged?.actor, { type: "sender", id: "", name: "unknown sender" });
});

test("forged deliveries have one audit entry a minute, with their number", async () => {
  const { trigger, id } = await beds.create();
  const before = (await forgedEntries()).length;
  const forge = () => refusalOf(trigger.triggerId, command("whsec_x"));
  const entries = async () => (await forgedEntries()).slice(before);
  for (let i = 0; i < 5; i++) await forge();
  const { triggerId } = trigger;
  assert.deepEqual(await entries(), [
    { input: { triggerId, count: 1 }, outcome: "unauthenticated" },
  ]);
  await sql(
    `UPDATE triggers SET forged_noted_at = forged_noted_at - interval '61 seconds' WHERE schedule_id = $1`,
    [id],
  );
  await forge();
  assert.deepEqual(
    (await entries()).map(({ input }) => input.count),
    [1, 5],
  );
});

test("every forged delivery of a flood is counted, at the latest a minute after the last entry", async () => {
  const { trigger, id } = await beds.create();
  const before = (await forgedEntries()).length;
  const flood = Array.from({ length: 223 }, () => refusalOf(trigger.triggerId, command("whsec_x")));
  await Promise.all(flood);
  const { database } = beds.bed.service;
  await noteForged(database);
  const counts = async () => (await forgedEntries()).slice(before).map(({ input }) => input.count);
  assert.deepEqual(await counts(), [1], "an entry a minute");
  await sql(
    `UPDATE triggers SET forged_noted_at = forged_noted_at - interval '61 seconds' WHERE schedule_id = $1`,
    [id],
  );
  await noteForged(database);
  await noteForged(database);
  assert.deepEqual(await counts(), [1, 222]);
});

test("a flood of forged deliveries waits for one lock with one connection", async () => {
  const { trigger, id } = await beds.create();
  const other = await beds.create();
  const lock = statement(`SELECT FROM triggers WHERE schedule_id = $1 FOR UPDATE`);
  const { service, organization } = beds.bed;
  const organizationId = parseId("organization", organization.organizationId)!;
  const flood: Promise<Refusal>[] = [];
  await service.database.tenantTransaction(organizationId, async (holder) => {
    await holder.rows(lock, id);
    for (let i = 0; i < 20; i++) flood.push(refusalOf(trigger.triggerId, command("whsec_x")));
    await runIdOf(other.trigger.triggerId, command(other.secret));
  });
  await Promise.all(flood);
});

test("values of a body are counted only after its signature is verified", async () => {
  const { trigger, secret } = await beds.create({ source: "json" });
  const many = standardDelivery(
    secret,
    Array.from({ length: 10_001 }, () => 1),
  );
  assert.equal((await refusalOf(trigger.triggerId, many)).code, "invalid_input");
  const forged = { ...many, body: `${many.body} ` };
  assert.equal((await refusalOf(trigger.triggerId, forged)).code, "unauthenticated");
});

test("after a rotation both secrets are accepted for a day, and then only the new one", async () => {
  const { trigger, secret, id } = await beds.create();
  const { triggerId } = trigger;
  const rotated = await beds.update({ triggerId, rotateSecret: true });
  assert.ok(rotated.secret !== null && rotated.secret !== secret);
  for (const each of [secret, rotated.secret]) await runIdOf(triggerId, command(each));
  await sql(
    `UPDATE triggers SET former_until = former_until - interval '24 hours' WHERE schedule_id = $1`,
    [id],
  );
  await runIdOf(triggerId, command(rotated.secret));
  assert.equal((await refusalOf(triggerId, command(secret))).code, "unauthenticated");
});

test("the database has no secret of a trigger", async () => {
  const { secret, id } = await beds.create();
  const [row] = await sql<{ stored: string }>(
    `SELECT row_to_json(t)::text || row_to_json(s)::text AS stored FROM triggers t JOIN schedules s USING (schedule_id)
      WHERE schedule_id = $1`,
    [id],
  );
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  assert.equal(key.length, 32);
  assert.ok(!row!.stored.includes(secret.slice(6)));
  assert.ok(!row!.stored.includes(key.toString("hex")));
});

test("a paused trigger starts nothing, and answers a repeated delivery with its run", async () => {
  const { trigger, secret } = await beds.create();
  const { triggerId } = trigger;
  const earlier = command(secret);
  const runId = await runIdOf(triggerId, earlier);
  await beds.update({ triggerId, enabled: false });
  assert.deepEqual(await beds.send(triggerId, command(secret)), {
    ignored: "The trigger is paused.",
  });
  assert.equal(await runIdOf(triggerId, earlier), runId);
  await beds.update({ triggerId, enabled: true });
  await runIdOf(triggerId, command(secret));
});

test("GitHub's ping and events of other types are answered, and start nothing", async () => {
  const { trigger, secret } = await beds.create();
  const send = (event: string, payload: object) =>
    beds.send(trigger.triggerId, githubDelivery(secret, event, payload));
  assert.ok("ignored" in (await send("ping", { zen: "Keep it simple." })));
  assert.ok("ignored" in (await send("push", {})));
  assert.ok("ignored" in (await send("issues", payloads.issueOpened())));
});

test("a signed body that is not JSON, or not GitHub's, is refused", async () => {
  const { trigger, secret } = await beds.create();
  const signed = githubDelivery(secret, "issues", { issue: "x" });
  assert.equal((await refusalOf(trigger.triggerId, signed)).code, "invalid_input");
  const json = await beds.create({ source: "json" });
  const standard = standardDelivery(json.secret, "text");
  await runIdOf(json.trigger.triggerId, standard);
});
