// Login attempts: who may start them, to whom they belong, how they end, and that their codes are stored nowhere.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { agentKeyPermissions, formatId, parseId } from "@hawser/contract";
import { addMember } from "@hawser/testkit/add-member.ts";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openSessionBed, refusing, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { OutcomeUnknown } from "../dispatch/handler.ts";
import { createLog } from "../log.ts";
import { purge } from "../purge.ts";
import { submitLogin } from "./logins.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
/** Keys. Ada is the bed's own user, Bob another member. */
let ada: string, bob: string, organization: string, agent: string;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  ({ member: ada, owner: organization } = bed.organization.keys);
  ({ key: bob } = await addMember(bed, node, { email: "bob@acme.example" }));
  const { database } = bed.service;
  const { organizationId } = bed.organization;
  const sessionId = await bed.addSession();
  agent = await makeKey(database, organizationId, agentKeyPermissions, { sessionId });
  await allow(["subscription"]);
});
after(() => bed[Symbol.asyncDispose]());
afterEach(async () => {
  bed.asked.length = 0;
  for (const command of Object.keys(bed.host)) delete bed.host[command as keyof typeof bed.host];
  await bed.sql(`UPDATE instances SET status = 'online'`);
});

const allow = (allowedLogins: string[]) =>
  node.result("update_settings", { allowedLogins }, { key: organization });

const pasted = { flow: "paste_code", authorizationUrl: "https://login.example/a", userCode: null };
const typed = { flow: "device_code", authorizationUrl: "https://login.example/d", userCode: "AB" };
const linked = {
  status: "done",
  error: null,
  account: "ada@acme.example",
  expiresAt: "2027-01-01T00:00:00.000Z",
};
const pending = { status: "pending", error: null, account: null, expiresAt: null };

/** Starts an attempt. Returns its id. */
async function start(answer: object = pasted, { key = ada, kind = "codex" } = {}): Promise<string> {
  bed.host.start_login = () => answer;
  const input = { instanceId: bed.instanceId, kind };
  return (await node.result("start_agent_login", input, { key })).loginId as string;
}

const poll = (loginId: string, key = ada) => node.result("poll_agent_login", { loginId }, { key });
const submit = (loginId: string, code = "c", key = ada) =>
  node.result("submit_agent_login", { loginId, code }, { key });

const accounts = () =>
  bed.sql<{ kind: string; linked: boolean }>(
    `SELECT kind, linked FROM agent_accounts ORDER BY kind`,
  );

test("an account is linked with a code: the host gets it, and the record shows the account", async () => {
  bed.host.start_login = () => pasted;
  const input = { instanceId: bed.instanceId, kind: "claude_code", email: "ada@acme.example" };
  const begun = await node.result("start_agent_login", input);
  const { loginId } = begun;
  const { instanceId } = bed;
  const shown = { loginId, instanceId, kind: "claude_code", ...pasted };
  assert.deepEqual(begun, { ...shown, ...pending });
  const { payload } = bed.asked.at(-1)!;
  assert.deepEqual(Object.keys(payload).sort(), ["email", "kind", "loginId", "ownerId"]);
  assert.match(payload["ownerId"] as string, /^usr_\w{26}\.\d{13}$/);
  assert.deepEqual(await accounts(), [{ kind: "claude_code", linked: false }]);

  bed.host.submit_login = () => linked;
  const done = await submit(loginId as string, "the-code");
  assert.deepEqual(done, { ...shown, ...linked });
  assert.equal(bed.asked.at(-1)!.payload["code"], "the-code");
  assert.deepEqual(await accounts(), [{ kind: "claude_code", linked: true }]);
  // A second submission changes nothing, and asks nobody.
  const asked = bed.asked.length;
  assert.deepEqual(await submit(loginId as string, "again"), done);
  assert.deepEqual(await poll(loginId as string), done);
  assert.equal(bed.asked.length, asked);
});

test("an account is linked with a device code: the host completes it, and polling shows it", async () => {
  const loginId = await start(typed);
  bed.host.read_login = () => pending;
  assert.equal((await poll(loginId))["status"], "pending");
  await assert.rejects(submit(loginId), { code: "wrong_login_flow" });
  bed.host.read_login = () => linked;
  const done = await poll(loginId);
  assert.deepEqual([done["status"], done["account"]], ["done", "ada@acme.example"]);
  assert.ok((await accounts()).some(({ kind, linked: isLinked }) => kind === "codex" && isLinked));
});

test("a claude_code login whose expiry is unknown lasts 30 days, one of codex has no end", async () => {
  const days = async (kind: string) => {
    const loginId = await start(pasted, { kind });
    bed.host.submit_login = () => ({ ...linked, expiresAt: null });
    const { expiresAt } = await submit(loginId);
    return expiresAt && Math.round((Date.parse(expiresAt as string) - Date.now()) / 86_400_000);
  };
  assert.equal(await days("claude_code"), 30);
  assert.equal(await days("codex"), null);
});

test("only users link accounts, only where the organization allows it, and only on a connected host", async () => {
  const input = { instanceId: bed.instanceId, kind: "codex" };
  const refusedTo = async (key: string) => {
    const answer = await node.call("start_agent_login", input, { key });
    return "refusal" in answer ? answer.refusal.code : "done";
  };
  bed.host.start_login = () => pasted;
  assert.deepEqual(await Promise.all([ada, bob, organization, agent].map(refusedTo)), [
    "done",
    "done",
    "user_key_required",
    "forbidden",
  ]);
  bed.asked.length = 0;
  await bed.sql(`UPDATE instances SET status = 'offline'`);
  assert.equal(await refusedTo(ada), "host_offline");
  await allow([]);
  const before = await accounts();
  await assert.rejects(node.result("start_agent_login", input), {
    code: "login_not_allowed",
    message: /terms of the account's maker.*an owner can allow it/,
    details: { nextAction: "update_settings" },
  });
  await allow(["subscription", "subscription"]);
  const { allowedLogins } = await node.result("get_settings", {}, { key: organization });
  assert.deepEqual(allowedLogins, ["subscription"]);
  assert.deepEqual([bed.asked.length, await accounts()], [0, before]);
});

test("an attempt does not exist for anybody but the user who started it", async () => {
  const loginId = await start(pasted, { key: ada });
  const unknown = formatId("login", "01a1dcb3-708b-7ba5-8f6d-438dd495d039");
  bed.host.submit_login = () => linked;
  for (const action of ["poll_agent_login", "submit_agent_login"]) {
    const code = action === "submit_agent_login" ? { code: "c" } : {};
    const refusalOf = async (id: string, key: string) => {
      const answer = await node.call(action, { loginId: id, ...code }, { key });
      assert.ok("refusal" in answer);
      return `${answer.refusal.code} ${answer.refusal.message}`;
    };
    const missing = await refusalOf(unknown, bob);
    assert.match(missing, /^not_found .*Call start_agent_login/);
    assert.equal(await refusalOf(loginId, bob), missing);
    assert.match(await refusalOf(loginId, organization), /^user_key_required/);
    assert.match(await refusalOf(loginId, agent), /^forbidden/);
  }
  assert.ok(bed.asked.every(({ command }) => command === "start_login"));
});

test("an attempt ends after 15 minutes, and with the next one", async () => {
  const old = await start();
  const id = parseId("login", old);
  const age = (minutes: number) =>
    bed.sql(
      `UPDATE agent_logins SET created_at = now() - make_interval(mins => $2) WHERE login_id = $1`,
      [id, minutes],
    );
  bed.host.read_login = () => pending;
  await age(14);
  assert.equal((await poll(old))["status"], "pending");
  await age(15);
  const expired = await poll(old);
  const asked = bed.asked.length;
  assert.equal(expired["status"], "error");
  assert.match(expired["error"] as string, /expired.*Call start_agent_login again/);
  await assert.rejects(submit(old), { code: "login_failed", message: /expired/ });
  assert.equal(bed.asked.length, asked);

  // The host completed it just in time, and nobody had asked.
  const late = await start();
  bed.host.read_login = () => ({ ...pending, status: "done", account: "ada@example.com" });
  await bed.sql(
    `UPDATE agent_logins SET created_at = now() - interval '16 minutes' WHERE login_id = $1`,
    [parseId("login", late)],
  );
  assert.equal((await poll(late))["status"], "done");
  bed.host.read_login = () => pending;

  const first = await start();
  const second = await start();
  assert.match((await poll(first))["error"] as string, /Another attempt/);
  assert.equal((await poll(second))["status"], "pending");
});

test("an attempt outlives the absence of its host, and ends if the host has lost it", async () => {
  const loginId = await start();
  assert.equal((await poll(loginId))["status"], "pending", "the host does not answer");
  await assert.rejects(submit(loginId), { code: "host_offline" });
  await bed.sql(`UPDATE instances SET status = 'offline'`);
  const asked = bed.asked.length;
  assert.equal((await poll(loginId))["status"], "pending", "the host is shown offline");
  assert.equal(bed.asked.length, asked);
  await bed.sql(`UPDATE instances SET status = 'online'`);
  bed.host.read_login = refusing("not_found");
  const lost = await poll(loginId);
  assert.equal(lost["status"], "error");
  assert.match(lost["error"] as string, /Call start_agent_login again/);

  const other = await start();
  bed.host.submit_login = refusing("not_found");
  await assert.rejects(submit(other), { code: "not_found", message: /start_agent_login again/ });
  await assert.rejects(submit(other), { code: "login_failed" });
});

test("a refused start leaves no attempt, and one without an answer can be repeated", async () => {
  const count = async () => (await bed.sql(`SELECT FROM agent_logins`)).length;
  const before = await count();
  const input = { instanceId: bed.instanceId, kind: "codex" };
  for (const code of ["agent_not_ready", "host_refused", "login_failed"] as const) {
    bed.host.start_login = refusing(code);
    await assert.rejects(node.result("start_agent_login", input), { code });
  }
  assert.equal(await count(), before);
  bed.host.start_login = () => {
    throw new OutcomeUnknown("It takes its time.");
  };
  const options = { idempotencyKey: "login-1" };
  await assert.rejects(node.result("start_agent_login", input, options), { code: "in_progress" });
  bed.host.start_login = () => typed;
  const begun = await node.result("start_agent_login", input, options);
  assert.equal(begun["userCode"], "AB");
  const { payload } = bed.asked.at(-1)!;
  assert.equal(payload["loginId"], begun["loginId"]);
});

test("a wrong code ends the attempt, and no code is stored anywhere", async () => {
  const code = "canary-7f3a9";
  const wrong = await start();
  bed.host.submit_login = refusing("login_failed", `The page does not know ${code}.`);
  const options = { idempotencyKey: "submit-1" };
  const input = { loginId: wrong, code };
  const failed = { code: "login_failed", message: "The page does not know …." };
  await assert.rejects(node.result("submit_agent_login", input, options), failed);
  assert.deepEqual((await poll(wrong))["error"], failed.message);
  await assert.rejects(submit(wrong, code), failed);

  const silent = await start();
  bed.host.submit_login = () => {
    throw new OutcomeUnknown("It takes its time.");
  };
  const again = { idempotencyKey: "submit-2" };
  const other = { loginId: silent, code };
  await assert.rejects(node.result("submit_agent_login", other, again), { code: "in_progress" });
  assert.equal((await dumpDatabase(bed.service.url)).includes(code), false, "while it is open");
  // Intents are stored encrypted, so the dump does not show what is in them.
  const caller = { scope: "user", userId: parseId("user", bed.organization.userId) };
  const intent = await bed.service.database.tenantTransaction(bed.organizationId, (sql) =>
    submitLogin.prepare({ sql, caller } as never, other),
  );
  assert.equal(JSON.stringify(intent).includes(code), false);
  bed.host.submit_login = () => linked;
  assert.equal((await node.result("submit_agent_login", other, again))["status"], "done");

  const text = await dumpDatabase(bed.service.url);
  assert.ok(text.includes("submit_agent_login"), "the audit trail has the calls");
  assert.equal(text.includes(code), false);
  assert.equal(text.includes(Buffer.from(code).toString("hex")), false);
});

test("unlinking removes the caller's own account, and says whether there was one", async () => {
  const loginId = await start();
  const { payload } = bed.asked.at(-1)!;
  const input = { instanceId: bed.instanceId, kind: "codex" };
  const unlink = (key: string) => node.result("unlink_agent_identity", input, { key });
  await assert.rejects(unlink(ada), { code: "host_offline" });
  bed.host.unlink_identity = () => ({ unlinked: true });
  assert.deepEqual(await unlink(ada), { ...input, unlinked: true });
  const { ownerId } = payload;
  assert.deepEqual(bed.asked.at(-1)!.payload, { ownerId, kind: "codex" });
  const rows = await bed.sql(`SELECT FROM agent_accounts WHERE kind = 'codex' AND owner_id = $1`, [
    ownerId,
  ]);
  assert.equal(rows.length, 0);
  assert.match((await poll(loginId))["error"] as string, /unlinked/);
  bed.host.unlink_identity = () => ({ unlinked: false });
  assert.deepEqual(await unlink(ada), { ...input, unlinked: false });
  await assert.rejects(unlink(organization), { code: "user_key_required" });
  await assert.rejects(unlink(agent), { code: "forbidden" });
});

test("attempts are removed after a day, and with their instance", async () => {
  await start();
  const ages = () =>
    bed.sql<{ old: boolean }>(`SELECT created_at < now() AS old FROM agent_logins`);
  await bed.sql(`UPDATE agent_logins SET created_at = now() - interval '25 hours'`);
  await start();
  await purge(bed.service.database.system, createLog("silent"), new AbortController().signal);
  assert.equal((await ages()).length, 1);
  const made = await node.result("create_instance", { name: "gone" }, { key: organization });
  const { instanceId } = made["instance"] as { instanceId: string };
  const id = parseId("instance", instanceId);
  await bed.sql(`UPDATE agent_logins SET instance_id = $1`, [id]);
  await bed.sql(`UPDATE agent_accounts SET instance_id = $1`, [id]);
  await node.result("delete_instance", { instanceId }, { key: organization });
  assert.deepEqual([await ages(), await accounts()], [[], []]);
});
