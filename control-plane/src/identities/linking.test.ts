// Linking a secret: who may do it, what each way needs, what the host gets, and that the secret is stored nowhere.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { agentKeyPermissions, parseId } from "@hawser/contract";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openSessionBed, refusing, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { OutcomeUnknown } from "../dispatch/handler.ts";
import { linkIdentity } from "./linking.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
let ada: string, organization: string, agent: string;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  ({ member: ada, owner: organization } = bed.organization.keys);
  const { database } = bed.service;
  const { organizationId } = bed.organization;
  const sessionId = await bed.addSession();
  agent = await makeKey(database, organizationId, agentKeyPermissions, { sessionId });
});
after(() => bed[Symbol.asyncDispose]());
afterEach(async () => {
  bed.asked.length = 0;
  for (const command of Object.keys(bed.host)) delete bed.host[command as keyof typeof bed.host];
  await bed.sql(`DELETE FROM agent_accounts`);
  await bed.sql(`UPDATE instances SET status = 'online'`);
});

const canary = "eyJ.canary-5b1c9.x.y.z";
const inputOf = (more: object = {}) => ({
  instanceId: bed.instanceId,
  kind: "claude_code",
  way: "api_key",
  sealedSecret: canary,
  ...more,
});

/** The code of the refusal, or `done`. */
async function outcomeOf(more: object = {}, key = ada): Promise<string> {
  bed.host.link_identity = () => ({ account: "…abcd" });
  const answer = await node.call("link_agent_identity", inputOf(more), { key });
  return "refusal" in answer ? answer.refusal.code : "done";
}

const region = "eu-west-1";
const baseUrl = "https://gateway.example/v1";

test("the host gets the sealed secret, and the record names the way and the account", async () => {
  bed.host.link_identity = () => ({ account: "gateway.example" });
  const linked = await node.result("link_agent_identity", inputOf({ way: "gateway", baseUrl }));
  const { command, payload } = bed.asked.at(-1)!;
  const { ownerId, ...sent } = payload;
  assert.match(ownerId as string, /^usr_\w{26}\.\d{13}$/);
  const named = { baseUrl, region: null, projectId: null };
  assert.equal(command, "link_identity");
  assert.deepEqual(sent, { kind: "claude_code", way: "gateway", sealedSecret: canary, ...named });
  const { user, ...shown } = linked;
  assert.deepEqual(user, { userId: bed.organization.userId, name: "ada@acme.example" });
  const unknown = { plan: null, expiresAt: null, utilization: null, utilizationAt: null };
  assert.deepEqual(shown, {
    kind: "claude_code",
    way: "gateway",
    authenticated: true,
    account: "gateway.example",
    ...unknown,
    warning: null,
  });
  // The host is away, so the list shows what is stored.
  const { identities, sealingKey, live } = await node.result("list_agent_identities", {
    instanceId: bed.instanceId,
  });
  assert.deepEqual([identities, sealingKey, live], [[linked], null, false]);
});

test("a linked secret ends an open attempt to log in, and has no end of its own", async () => {
  await allow(["subscription", "api_key"]);
  const login = { flow: "paste_code", authorizationUrl: "https://login.example", userCode: null };
  const done = { status: "done", error: null, account: "ada@acme.example", expiresAt: null };
  bed.host.start_login = () => login;
  bed.host.submit_login = () => done;
  const start = { instanceId: bed.instanceId, kind: "claude_code" };
  const { loginId } = await node.result("start_agent_login", start);
  await node.result("submit_agent_login", { loginId, code: "c" });
  const shown = async () => {
    const listed = await node.result("list_agent_identities", { instanceId: bed.instanceId });
    const [identity] = listed["identities"] as Record<string, unknown>[];
    return [identity!["way"], identity!["account"], identity!["expiresAt"] === null];
  };
  assert.deepEqual(await shown(), ["subscription", "ada@acme.example", false]);
  const { loginId: open } = await node.result("start_agent_login", start);
  assert.equal(await outcomeOf(), "done");
  assert.deepEqual(await shown(), ["api_key", "…abcd", true]);
  const attempt = await node.result("poll_agent_login", { loginId: open });
  assert.deepEqual([attempt["status"], attempt["error"]], ["error", "Another account was linked."]);
  // What the host reports later keeps it so.
  const payload = bed.asked.findLast(({ command }) => command === "link_identity")!.payload;
  const identity = {
    ownerId: payload["ownerId"],
    kind: "claude_code",
    way: "api_key",
    authenticated: false,
    account: "…abcd",
    plan: null,
    expiresAt: null,
    utilization: null,
    utilizationAt: null,
    problem: null,
  };
  const sealingKey = { kty: "RSA", alg: "RSA-OAEP-256", use: "enc", n: "AQAB", e: "AQAB" };
  bed.host.list_identities = () => ({ identities: [identity], separated: false, sealingKey });
  const listed = await node.result("list_agent_identities", { instanceId: bed.instanceId });
  assert.deepEqual(listed["sealingKey"], sealingKey);
  const [reported] = listed["identities"] as Record<string, unknown>[];
  assert.equal(reported!["expiresAt"], null);
  assert.match(reported!["warning"] as string, /no longer has the secret.*link_agent_identity/);
  await allow(["api_key", "gateway", "cloud"]);
});

const allow = (allowedLogins: string[]) =>
  node.result("update_settings", { allowedLogins }, { key: organization });

test("a new organization allows keys, gateways and clouds, and each can be forbidden", async () => {
  const { allowedLogins } = await node.result("get_settings", {}, { key: organization });
  assert.deepEqual(allowedLogins, ["api_key", "gateway", "cloud"]);
  const ways = [
    ["api_key", {}],
    ["gateway", { baseUrl }],
    ["cloud", { way: "bedrock", region }],
    ["cloud", { way: "vertex", region, projectId: "acme" }],
  ] as const;
  for (const [setting, fields] of ways) {
    const more = { way: setting, ...fields };
    assert.equal(await outcomeOf(more), "done", JSON.stringify(more));
    await allow(["api_key", "gateway", "cloud"].filter((way) => way !== setting));
    assert.equal(await outcomeOf(more), "login_not_allowed", JSON.stringify(more));
    await allow(["api_key", "gateway", "cloud"]);
  }
});

test("only users link secrets, with keys of their own making, on a connected host", async () => {
  assert.equal(await outcomeOf({}, organization), "user_key_required");
  assert.equal(await outcomeOf({}, agent), "forbidden");
  assert.equal(await outcomeOf({ instanceId: bed.organization.userId }), "not_found");
  assert.equal(await outcomeOf({ way: "gateway" }), "invalid_input");
  assert.equal(await outcomeOf({ sealedSecret: "sk-ant-api03-x" }), "invalid_input");
  assert.equal(
    await outcomeOf({ kind: "codex", way: "vertex", region, projectId: "a" }),
    "invalid_input",
  );
  await bed.sql(`UPDATE instances SET status = 'offline'`);
  assert.equal(await outcomeOf(), "host_offline");
  await bed.sql(`UPDATE instances SET status = 'online'`);
  const member = { email: "cy@acme.example", role: "member" };
  const { userId } = await node.result("add_member", member, { key: organization });
  const key = { name: "first", scope: "user", permissions: ["instances:view"], userId };
  const made = await node.result("create_api_key", key, { key: organization });
  assert.equal(await outcomeOf({}, made["key"] as string), "login_not_allowed");
  assert.deepEqual(bed.asked, []);
});

test("a refusal of the host reaches the caller, and a retry after an unknown outcome asks again", async () => {
  const message = "The host cannot use this sealed secret.";
  bed.host.link_identity = refusing("login_failed", message);
  await assert.rejects(node.result("link_agent_identity", inputOf()), {
    code: "login_failed",
    message,
  });
  bed.host.link_identity = refusing("daemon_outdated", "Update it.");
  await assert.rejects(node.result("link_agent_identity", inputOf()), { code: "daemon_outdated" });

  bed.host.link_identity = () => {
    throw new OutcomeUnknown("It takes its time.");
  };
  const options = { idempotencyKey: "link-1" };
  await assert.rejects(node.result("link_agent_identity", inputOf(), options), {
    code: "in_progress",
  });
  assert.equal((await dumpDatabase(bed.service.url)).includes(canary), false, "while it is open");
  bed.host.link_identity = () => ({ account: "…abcd" });
  assert.equal((await node.result("link_agent_identity", inputOf(), options))["account"], "…abcd");
  const [first, second] = bed.asked.slice(-2);
  assert.equal(first!.commandId, second!.commandId);
});

test("the sealed secret is in no row, also not in the stored intent", async () => {
  assert.equal(await outcomeOf(), "done");
  const caller = { scope: "user", userId: parseId("user", bed.organization.userId) };
  const intent = await bed.service.database.tenantTransaction(bed.organizationId, (sql) =>
    linkIdentity.prepare({ sql, caller } as never, inputOf() as never),
  );
  assert.equal(JSON.stringify(intent).includes(canary), false);
  const text = await dumpDatabase(bed.service.url);
  assert.ok(text.includes("link_agent_identity"), "the audit trail has the calls");
  for (const form of [canary, Buffer.from(canary).toString("hex")]) {
    assert.equal(text.includes(form), false);
  }
});
