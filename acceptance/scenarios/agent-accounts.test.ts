// People's own agent accounts on a host. The prompts of a session show, at the model, whose login it uses.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "@hawser/testkit/caller.ts";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import {
  firstKeys,
  lastGrant,
  linkClaude,
  linkCodex,
  loginAtModel,
  placeOf,
  shareLogins,
  useAccounts,
} from "../account-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import { startSession } from "../session-steps.ts";

useWorld({ agents: ["claude_code", "codex"], nats: 1 });
const open = useAccounts();

scenario(
  "A login needs the consent of the organization, of the host's owner, and a user's key",
  ["auth.key.organization_scope"],
  async (context) => {
    const { world, caller } = context;
    const current = await open(context);
    const { host, ada } = current;
    const { instanceId } = host;
    const start = { instanceId, kind: "claude_code" as const };
    assertRefused(await caller.try("start_agent_login", start), 409, "user_key_required");
    await caller.update_settings({ allowedLogins: [] });
    const refused = assertRefused(
      await ada.try("start_agent_login", start),
      409,
      "login_not_allowed",
    );
    assert.equal(refused.nextAction, "update_settings");
    await caller.update_settings({ allowedLogins: ["subscription"] });
    const foreign = await ada.try("start_agent_login", start);
    assertRefused(foreign, 409, "login_not_allowed");
    assert.match(foreign.text, /Somebody else made your key/);
    for (const person of [ada, current.bo]) {
      await person.revoke_api_key({ apiKeyId: firstKeys.get(person)! });
    }
    shareLogins(host, false);
    const { message } = assertRefused(
      await ada.try("start_agent_login", start),
      409,
      "host_refused",
    );
    assert.match(message, /shared-logins = yes/);
    shareLogins(host, true);
    assert.deepEqual((await caller.list_agent_identities({ instanceId })).identities, []);
    const { instances } = await world
      .callerFor(world.organizations[0].keys.owner)
      .list_instances({});
    assert.ok(instances.some((each) => each.instanceId === instanceId));
  },
);

scenario(
  "Claude Code: the code of the browser completes a login, which lasts 30 days and can be renewed",
  [
    "general.capabilities",
    "record.login.flow",
    "record.login.authorizationUrl",
    "record.identity.expiresAt",
    "start_agent_login.result",
    "start_agent_login.paste_code",
    "start_agent_login.email.prefill",
    "start_agent_login.renew",
    "start_agent_login.claude_code.days",
    "submit_agent_login.result",
    "submit_agent_login.code.secret",
    "poll_agent_login.other_user",
  ],
  async (context) => {
    const current = await open(context);
    const { host, claude, ada, bo } = current;
    const { instanceId } = host;
    const email = "ada@example.test";
    const started = await ada.start_agent_login({ instanceId, kind: "claude_code", email });
    const { loginId, flow, authorizationUrl, userCode, status } = started;
    assert.deepEqual([flow, userCode, status], ["paste_code", null, "pending"]);
    assert.equal(new URL(authorizationUrl).protocol, "https:");
    assert.equal(new URL(authorizationUrl).searchParams.get("login_hint"), email);
    assert.equal((await ada.poll_agent_login({ loginId })).status, "pending");
    const code = claude.authorize(authorizationUrl, { email, plan: "claude_max" });
    assertRefused(await bo.try("poll_agent_login", { loginId }), 404, "not_found");
    assertRefused(await bo.try("submit_agent_login", { loginId, code }), 404, "not_found");
    const done = await ada.submit_agent_login({ loginId, code });
    assert.deepEqual([done.status, done.account], ["done", email]);
    const days = (Date.parse(done.expiresAt!) - Date.now()) / (24 * 3600_000);
    assert.ok(days > 29 && days < 31, `${days} days`);
    const { identities } = await ada.list_agent_identities({ instanceId });
    const { user } = await ada.whoami({});
    assert.deepEqual(
      identities.map(({ kind, authenticated, account, plan }) => [
        kind,
        authenticated,
        account,
        plan,
      ]),
      [["claude_code", true, email, "max"]],
    );
    assert.deepEqual(identities[0]!.user.userId, user!.userId);
    assert.equal(identities[0]!.expiresAt, done.expiresAt);
    const again = await linkClaude(current, ada, email);
    assert.ok(again.done.expiresAt! > done.expiresAt!);
    assert.equal((await ada.list_agent_identities({ instanceId })).identities.length, 1);
    const secret = code.split("#")[0]!;
    const log = JSON.stringify(host.log);
    assert.ok(!log.includes(secret), "the daemon's log has the code");
    assert.ok(!(await dumpDatabase(context.world.database.url)).includes(secret), "the database");
    for (const file of readdirSync(host.stateDirectory).filter((name) =>
      name.startsWith("journal-"),
    )) {
      if (!statSync(join(host.stateDirectory, file)).isFile()) continue;
      assert.ok(!readFileSync(join(host.stateDirectory, file), "latin1").includes(secret), file);
    }
  },
);

scenario(
  "A wrong code ends the attempt, and a new one can be started",
  ["poll_agent_login.result"],
  async (context) => {
    const { host, codex, claude, bo } = await open(context);
    const { instanceId } = host;
    const started = await bo.start_agent_login({ instanceId, kind: "claude_code" });
    const { loginId } = started;
    const state = new URL(started.authorizationUrl).searchParams.get("state");
    const wrong = await bo.try("submit_agent_login", { loginId, code: `wrong#${state}` });
    assertRefused(wrong, 409, "login_failed");
    const polled = await bo.poll_agent_login({ loginId });
    assert.equal(polled.status, "error");
    assert.ok(polled.error);
    const device = await bo.start_agent_login({ instanceId, kind: "codex" });
    const asCode = await bo.try("submit_agent_login", { loginId: device.loginId, code: "x" });
    assertRefused(asCode, 409, "wrong_login_flow");
    codex.deny(device.userCode!);
    const poll = () => bo.poll_agent_login({ loginId: device.loginId });
    const denied = await until("it has failed", 30_000, poll, ({ status }) => status !== "pending");
    assert.equal(denied.status, "error");
    assert.deepEqual((await bo.list_agent_identities({ instanceId })).identities, []);
    assert.equal(claude.grants.filter(({ email }) => email === "bo@example.test").length, 0);
  },
);

scenario(
  "codex: the host completes a login by itself once the person has typed the code",
  [
    "start_agent_login.device_code",
    "list_agent_identities.result",
    "record.login.loginId",
    "record.login.userCode",
    "record.login.progress",
    "record.login.result",
    "record.identity.account",
    "record.identity.plan",
  ],
  async (context) => {
    const current = await open(context);
    const { instanceId } = current.host;
    const { started, done } = await linkCodex(context, current, current.ada, "ada@openai.test");
    assert.deepEqual([started.flow, started.status], ["device_code", "pending"]);
    assert.match(started.userCode!, /^\w{4}-\w{4,5}$/);
    assert.equal(done.loginId, started.loginId);
    assert.deepEqual(
      [done.status, done.account, done.expiresAt],
      ["done", "ada@openai.test", null],
    );
    const { identities, separated, live } = await current.ada.list_agent_identities({ instanceId });
    assert.deepEqual([separated, live], [false, true]);
    const codex = identities.find(({ kind }) => kind === "codex")!;
    assert.deepEqual(
      [codex.authenticated, codex.account, codex.plan, codex.expiresAt, codex.warning],
      [true, "ada@openai.test", "pro", null, null],
    );
  },
);

scenario(
  "A session uses its starter's account, and nobody else gives it work",
  ["list_agent_identities.all.users", "auth.identities.own"],
  async (context) => {
    const { caller } = context;
    const current = await open(context);
    const { host, claude, codex, ada, bo } = current;
    const { instanceId } = host;
    await linkClaude(current, bo, "bo@example.test");
    const all = await caller.list_agent_identities({ instanceId, all: true });
    const people = new Set(all.identities.map(({ user }) => user.userId));
    assert.equal(people.size, 2);
    for (const person of [ada, bo]) {
      const { user } = await person.whoami({});
      const { identities } = await person.list_agent_identities({ instanceId });
      assert.ok(identities.length > 0);
      assert.ok(identities.every((each) => each.user.userId === user!.userId));
    }

    const adas = await startSession(ada, host, { agentKind: "claude_code" });
    const bos = await startSession(bo, host, { agentKind: "claude_code" });
    const hosts = await startSession(caller, host, { agentKind: "claude_code" });
    const { user } = await ada.whoami({});
    assert.equal(adas.accountOf?.userId, user!.userId);
    assert.equal(hosts.accountOf, null);
    const used = {
      ada: await loginAtModel(context, ada, adas.sessionId),
      bo: await loginAtModel(context, bo, bos.sessionId),
      host: await loginAtModel(context, caller, hosts.sessionId),
    };
    assert.equal(new Set(Object.values(used)).size, 3, JSON.stringify(used));
    const { sessionId } = adas;
    const mode = { sessionId, mode: "unattended" as const };
    assertRefused(await bo.try("set_session_mode", mode), 403, "account_not_yours");
    for (const other of [bo, caller]) {
      const work = { sessionId, text: "spend it" };
      assertRefused(await other.try("send_prompt", work), 403, "account_not_yours");
      const shell = { sessionId, command: "cat ~/.claude/.credentials.json" };
      assertRefused(await other.try("run_shell", shell), 403, "account_not_yours");
    }
    const fork = await bo.fork_session({ sessionId, agentKind: "claude_code", mode: "full" });
    assert.notEqual(fork.accountOf?.userId, user!.userId);

    const inCodex = await startSession(ada, host, { agentKind: "codex" });
    const authorization = await loginAtModel(context, ada, inCodex.sessionId);
    assert.equal(codex.grantOf(authorization)?.email, "ada@openai.test");
    assert.ok(claude.grants.every(({ reuses }) => reuses === 0));
    for (const [owner, session] of [
      [ada, adas],
      [bo, bos],
      [caller, hosts],
      [bo, fork],
      [ada, inCodex],
    ] as const) {
      await owner.end_session({ sessionId: session.sessionId });
    }
  },
);

scenario(
  "An account is one person's, on one host and for one kind; a login that is lost is shown, and never its token",
  ["record.identity.key", "record.identity.authenticated", "record.identity.no_credentials"],
  async (context) => {
    const { world, caller } = context;
    const current = await open(context);
    const { host, ada, bo } = current;
    const other = await world.addHost();
    const onOther = { instanceId: other.instanceId };
    assert.deepEqual((await ada.list_agent_identities(onOther)).identities, []);
    assert.deepEqual(
      (await caller.list_agent_identities({ ...onOther, all: true })).identities,
      [],
    );
    const list = async (person: Caller) =>
      (await person.list_agent_identities({ instanceId: host.instanceId })).identities;
    assert.deepEqual((await list(ada)).map(({ kind }) => kind).sort(), ["claude_code", "codex"]);
    const [before] = await list(bo);
    assert.deepEqual([before!.kind, before!.authenticated], ["claude_code", true]);

    const file = join(await placeOf(current, bo, "claude_code"), "home/.credentials.json");
    const kept = readFileSync(file, "utf8");
    const tokens = [...kept.matchAll(/"(?:access|refresh)Token":"([^"]+)"/g)].map(
      ([, token]) => token!,
    );
    assert.equal(tokens.length, 2);
    rmSync(file);
    const [after] = await list(bo);
    assert.deepEqual([after!.authenticated, after!.account], [false, before!.account]);
    assert.match(after!.warning!, /no longer valid.*start_agent_login/);
    const start = { instanceId: host.instanceId, directory: host.repository };
    const refused = await bo.try("start_session", { ...start, agentKind: "claude_code" });
    assertRefused(refused, 409, "agent_not_ready");
    assert.match(refused.text, /Call start_agent_login to renew it/);
    writeFileSync(file, kept, { mode: 0o600 });
    assert.equal((await list(bo))[0]!.authenticated, true);

    const dump = await dumpDatabase(world.database.url);
    const shown = JSON.stringify([before, after, host.log, await list(ada)]);
    for (const token of tokens) {
      assert.ok(!dump.includes(token), "the database has a token");
      assert.ok(!shown.includes(token), "a result or the daemon's log has a token");
    }
  },
);

scenario(
  "24 sessions of two people go on while each login is renewed once",
  [],
  async (context) => {
    const current = await open(context);
    const { host, codex, ada, bo } = current;
    const people = [
      { person: ada, email: "ada@openai.test" },
      { person: bo, email: "bo@openai.test" },
    ];
    // Codex renews a login whose token is good for less than five minutes.
    codex.settings.accessTokenSeconds = 330;
    for (const { person, email } of people) await linkCodex(context, current, person, email);
    codex.settings.accessTokenSeconds = 3600;
    const linkedAt = Date.now();
    const grants = codex.grants.slice(-2);
    const sessions = await Promise.all(
      people.flatMap(({ person, email }) =>
        Array.from({ length: 12 }, async () => {
          const { sessionId } = await startSession(person, host, { agentKind: "codex" });
          return { person, email, sessionId };
        }),
      ),
    );
    await sleep(Math.max(0, linkedAt + 35_000 - Date.now()));
    const used = await Promise.all(
      sessions.map(async ({ person, email, sessionId }) => {
        const authorization = await loginAtModel(context, person, sessionId);
        return [email, codex.grantOf(authorization)?.email];
      }),
    );
    for (const [wanted, found] of used) assert.equal(found, wanted);
    assert.deepEqual(
      grants.map(({ email, refreshes, reuses }) => [email, refreshes, reuses]),
      people.map(({ email }) => [email, 1, 0]),
    );
    const { identities } = await context.caller.list_agent_identities({
      instanceId: host.instanceId,
      all: true,
    });
    assert.ok(identities.every(({ authenticated }) => authenticated));
    for (const { person, sessionId } of sessions) await person.end_session({ sessionId });
    await bo.unlink_agent_identity({ instanceId: host.instanceId, kind: "codex" });
  },
);

scenario(
  "N7: unlinking logs out, deletes the home, and leaves the accounts of others",
  ["unlink_agent_identity.removes", "unlink_agent_identity.directory"],
  async (context) => {
    const current = await open(context);
    const { host, claude, codex, ada, bo } = current;
    const { instanceId } = host;
    const place = await placeOf(current, ada, "claude_code");
    const home = join(place, "home");
    assert.equal(statSync(home).mode & 0o777, 0o700);
    assert.equal(statSync(join(home, ".credentials.json")).mode & 0o777, 0o600);
    const session = await startSession(ada, host, { agentKind: "claude_code" });
    const unlinked = await ada.unlink_agent_identity({ instanceId, kind: "claude_code" });
    assert.equal(unlinked.unlinked, true);
    assert.equal(existsSync(place), false);
    assert.ok(lastGrant(claude.grants, "ada@example.test").revoked);
    const record = () => ada.get_session_summary({ sessionId: session.sessionId });
    const stopped = await until("it shows", 10_000, record, ({ status }) => status === "error");
    assert.equal(stopped.statusReason, "account_unlinked");
    const prompt = { sessionId: session.sessionId, text: "go on" };
    assertRefused(await ada.try("send_prompt", prompt), 409, "agent_not_ready");
    const kinds = async (person: Caller) =>
      (await person.list_agent_identities({ instanceId })).identities.map(({ kind }) => kind);
    assert.deepEqual(await kinds(ada), ["codex"]);
    assert.deepEqual(await kinds(bo), ["claude_code"]);
    const again = await ada.unlink_agent_identity({ instanceId, kind: "claude_code" });
    assert.equal(again.unlinked, false);
    await ada.end_session({ sessionId: session.sessionId });
    assert.equal(lastGrant(codex.grants, "ada@openai.test").revoked, false);
  },
);

scenario("Removing a member deletes their accounts on the host", [], async (context) => {
  const { caller } = context;
  const current = await open(context);
  const { host, codex, ada } = current;
  const place = await placeOf(current, ada, "codex");
  assert.ok(existsSync(place));
  const { user } = await ada.whoami({});
  await caller.remove_member({ userId: user!.userId });
  const isGone = async () => existsSync(place);
  await until("the home is gone", 10_000, isGone, (exists) => !exists);
  assert.ok(lastGrant(codex.grants, "ada@openai.test").revoked);
  const { identities } = await caller.list_agent_identities({
    instanceId: host.instanceId,
    all: true,
  });
  assert.deepEqual(
    identities.map(({ kind, account }) => [kind, account]),
    [["claude_code", "bo@example.test"]],
  );
});
