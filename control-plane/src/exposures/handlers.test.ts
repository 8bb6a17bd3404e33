// Creating previews: what the host is asked, what is stored, and what is refused. The host is a function.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { parseId } from "@hawser/contract";
import { openSessionBed, refusing, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { createLog } from "../log.ts";
import { createExposureAccess } from "./access.ts";
import { hashPassword } from "./password-hash.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
});
after(() => bed[Symbol.asyncDispose]());
afterEach(async () => {
  bed.asked.length = 0;
  for (const command of Object.keys(bed.host)) delete bed.host[command as keyof typeof bed.host];
  await bed.sql(`DELETE FROM exposures`);
});

const port = 5173;
const nothing = { directory: null, agentSessionId: null };

const create = (sessionId: string) =>
  node.result("create_preview", { sessionId, port, ttlMinutes: 60 });

const listed = async () =>
  (await node.result("list_exposures", { instanceId: bed.instanceId }))["exposures"] as object[];

test("a preview is an exposure of a session with the port of its server", async () => {
  bed.host.check_exposure = () => nothing;
  const sessionId = await bed.addSession();
  const { url, username, password, ...record } = await create(sessionId);
  const exposureId = String(record["exposureId"]);
  assert.deepEqual(
    [record["scope"], record["sessionId"], record["instanceId"], record["port"]],
    ["session", sessionId, bed.instanceId, port],
  );
  assert.equal(url, `https://${exposureId.replace("_", "-")}.exposures.example/`);
  assert.equal(username, "hawser");
  assert.equal(Buffer.from(String(password), "base64url").length, 16);
  const [{ command, payload }] = bed.asked as [(typeof bed.asked)[number]];
  const scope = { kind: "port", sessionId, port };
  assert.deepEqual([command, payload], ["check_exposure", { scope }]);
  assert.deepEqual(await listed(), [record]);

  const { system } = bed.service.database;
  const access = createExposureAccess(system, bed.authenticator.callersOfKeys, createLog("silent"));
  const found = await access.find(exposureId);
  assert.deepEqual(found?.scope, scope);
  assert.deepEqual(found.passwordHash, hashPassword(String(password), "port"));
  await node.result("revoke_exposure", { exposureId });
  assert.deepEqual(await listed(), []);
  assert.equal(await access.find(exposureId), undefined);
});

test("an exposure of opencode has no port, and its host is asked for the session", async () => {
  bed.host.check_exposure = () => nothing;
  const sessionId = await bed.addSession();
  await bed.sql(`UPDATE sessions SET agent_kind = 'opencode' WHERE session_id = $1`, [
    parseId("session", sessionId),
  ]);
  const input = { instanceId: bed.instanceId, sessionId, ttlMinutes: 60 };
  const { exposureId, password, port: shown } = await node.result("create_exposure", input);
  assert.equal(shown, null);
  const { system } = bed.service.database;
  const access = createExposureAccess(system, bed.authenticator.callersOfKeys, createLog("silent"));
  const scope = { kind: "session", sessionId };
  const found = await access.find(String(exposureId));
  assert.deepEqual(found?.scope, scope);
  assert.deepEqual(found.passwordHash, hashPassword(String(password), "session"));
  assert.deepEqual(bed.asked[0]!.payload, { scope });
});

test("nothing is stored if the host refuses, or if the session has ended", async () => {
  bed.host.check_exposure = refusing("host_refused", "No process listens there.");
  const sessionId = await bed.addSession();
  await assert.rejects(create(sessionId), { code: "host_refused" });
  const ended = await bed.addSession({ status: "ended" });
  await assert.rejects(create(ended), { code: "session_ended" });
  await assert.rejects(node.result("list_session_ports", { sessionId: ended }), {
    code: "session_ended",
  });
  assert.equal(bed.asked.length, 1);
  assert.deepEqual(await listed(), []);
});

test("a host has at most 20 exposures, previews included", async () => {
  bed.host.check_exposure = () => nothing;
  const sessionId = await bed.addSession();
  for (let i = 0; i < 20; i++) await create(sessionId);
  await assert.rejects(create(sessionId), { code: "limit_reached" });
});

test("the ports of a session are those that its host reports", async () => {
  const ports = [
    { port: 3000, program: "node" },
    { port: 5173, program: null },
  ];
  bed.host.list_session_ports = () => ({ ports });
  const sessionId = await bed.addSession();
  assert.deepEqual(await node.result("list_session_ports", { sessionId }), { ports });
  assert.deepEqual(bed.asked[0]!.payload, { sessionId });
});

for (const wrong of [0, 65_536, 80.5, "80", null, undefined]) {
  test(`${JSON.stringify(wrong)} is no port`, async () => {
    const sessionId = await bed.addSession();
    const input = { sessionId, port: wrong, ttlMinutes: 60 };
    await assert.rejects(node.result("create_preview", input), { code: "invalid_input" });
    assert.equal(bed.asked.length, 0);
  });
}
