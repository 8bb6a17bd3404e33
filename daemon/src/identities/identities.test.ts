// People's accounts on one host: logging in, which account a session uses, and unlinking. The agents and their
// login programs are scripted; drivers/*/login.test.ts has the real ones.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  logIn,
  openSmall,
  scriptedAccounts,
  setPolicy,
} from "@hawser/testkit/scripted-accounts.ts";
import {
  asks,
  codeOf,
  git,
  makeSmallHost,
  script,
  wanted,
  wantedFork,
  type SmallHost,
} from "@hawser/testkit/small-host.ts";
import { until } from "@hawser/testkit/until.ts";
import { bySubscription, openHomes } from "./homes.ts";

const ada = "usr_ada.1000";
const bo = "usr_bo.2000";

const linesOf = (text: string) => text.trim().split("\n").length;

const claude = (small: SmallHost, ownerId: string | null = null) => ({
  ...wanted(small.repository),
  kind: "claude_code" as const,
  ownerId,
});

/** A session with an account of Ada's. */
async function startWithAccount(small: SmallHost) {
  setPolicy(small, "shared-logins = yes");
  const { host, accounts } = openSmall(small);
  await logIn(host, ada);
  const asked = claude(small, ada);
  await host.must("start_session", asked);
  return { host, accounts, sessionId: asked.sessionId };
}

test("a login is refused unless the host's policy accepts that logins are not separated", async () => {
  using small = makeSmallHost();
  const { host } = openSmall(small);
  const start = { loginId: "log_a", ownerId: ada, kind: "claude_code" as const, email: null };
  const refused = await host.ask("start_login", start);
  assert.equal(codeOf(refused), "login_forbidden");
  assert.match(JSON.stringify(refused), /shared-logins = yes/);
  setPolicy(small, "shared-logins = yes", "agents = codex");
  assert.equal(codeOf(await host.ask("start_login", start)), "login_forbidden");
  setPolicy(small, "shared-logins = yes");
  assert.equal(codeOf(await host.ask("start_login", start)), "done");
  await host.close();
});

test("N5: a login belongs to the person who started it, and ends with a wrong code", async () => {
  using small = makeSmallHost();
  setPolicy(small, "shared-logins = yes");
  const { host } = openSmall(small);
  const start = { loginId: "log_a", ownerId: ada, kind: "claude_code" as const };
  const begun = await host.must("start_login", { ...start, email: "ada@example.test" });
  assert.equal(begun.flow, "paste_code");
  assert.match(begun.authorizationUrl, /ada@example.test/);
  const pending = { status: "pending", error: null, account: null, expiresAt: null };
  assert.deepEqual(await host.must("read_login", { loginId: "log_a", ownerId: ada }), pending);
  for (const ownerId of [bo, "usr_ada.1001"]) {
    assert.equal(codeOf(await host.ask("read_login", { loginId: "log_a", ownerId })), "not_found");
    const submitted = await host.ask("submit_login", { loginId: "log_a", ownerId, code: "right" });
    assert.equal(codeOf(submitted), "not_found");
  }
  const wrong = await host.ask("submit_login", { loginId: "log_a", ownerId: ada, code: "wrong" });
  assert.equal(codeOf(wrong), "login_failed");
  const state = await host.must("read_login", { loginId: "log_a", ownerId: ada });
  assert.deepEqual([state.status, state.error], ["error", "The code is wrong."]);
  const { identities } = await host.must("list_identities", {});
  assert.deepEqual(identities, []);
  await host.close();
});

test("a completed login is listed with its end, and a new attempt replaces one that waits", async () => {
  using small = makeSmallHost();
  setPolicy(small, "shared-logins = yes");
  const { host } = openSmall(small);
  const start = { loginId: "log_a", ownerId: ada, kind: "claude_code" as const, email: null };
  await host.must("start_login", start);
  const done = await logIn(host, ada);
  assert.equal(done.status, "done");
  const days = (Date.parse(done.expiresAt!) - Date.now()) / (24 * 3600_000);
  assert.ok(days > 29.9 && days < 30.1, `${days} days`);
  const replaced = await host.must("read_login", { loginId: "log_a", ownerId: ada });
  assert.deepEqual(
    [replaced.status, replaced.error],
    ["error", "Another login was started instead."],
  );
  await logIn(host, bo);
  const { identities, separated } = await host.must("list_identities", {});
  assert.equal(separated, false);
  assert.deepEqual(
    identities.map(({ ownerId, kind, authenticated, account, plan }) => [
      ownerId,
      kind,
      authenticated,
      account,
      plan,
    ]),
    [ada, bo].map((owner) => [owner, "claude_code", true, "ada@example.test", "max"]),
  );
  const home = join(small.directory, "state/homes/ins_small", ada, "claude_code/home");
  assert.equal(statSync(home).mode & 0o777, 0o700);
  await host.close();
});

/** Whose account a session uses: `own` that of its starter, `host` the login of the host's user. */
const table: [linked: boolean, ownLogins: boolean, starter: string | null, uses: string][] = [
  [true, true, ada, "own"],
  [true, false, ada, "own"],
  [true, true, bo, "host"],
  [true, false, bo, "agent_not_ready"],
  [true, true, null, "host"],
  [true, false, null, "agent_not_ready"],
  [false, true, ada, "host"],
  [false, false, ada, "agent_not_ready"],
];

for (const [linked, ownLogins, starter, uses] of table) {
  const who = starter === ada ? "Ada" : starter === bo ? "Bo" : "an organization's key";
  const about = `${linked ? "Ada has an account" : "nobody has one"}, own-logins ${ownLogins ? "yes" : "no"}`;
  test(`${about}: a session of ${who} uses ${uses}`, async () => {
    using small = makeSmallHost();
    setPolicy(small, "shared-logins = yes", `own-logins = ${ownLogins ? "yes" : "no"}`);
    const { host, accounts } = openSmall(small);
    if (linked) await logIn(host, ada);
    const outcome = await host.ask("start_session", claude(small, starter));
    const used = codeOf(outcome) === "done" ? "done" : codeOf(outcome);
    assert.equal(used, uses === "own" || uses === "host" ? "done" : uses);
    const sessions = [...accounts.agents.values()].flatMap((agent) => [...agent.sessions.keys()]);
    assert.equal(sessions.length, uses === "own" ? 1 : 0);
    assert.equal(small.agent.sessions.size, uses === "host" ? 1 : 0);
    if (outcome && "result" in outcome) {
      assert.equal(outcome.result["ownerId"], uses === "own" ? ada : null);
    }
    await host.close();
  });
}

test("N2: opencode never uses a person's account", async () => {
  using small = makeSmallHost();
  setPolicy(small, "shared-logins = yes");
  const accounts = scriptedAccounts();
  const host = small.open({ accountKinds: accounts.kinds });
  await logIn(host, ada);
  const started = await host.must("start_session", { ...wanted(small.repository), ownerId: ada });
  assert.equal(started.ownerId, null);
  assert.equal(accounts.agents.size, 0);
  await host.close();
});

test("only its owner gives work to a session with a person's account; others can fork it", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await startWithAccount(small);
  const text = script([{ text: "done" }]);
  for (const ownerId of [bo, null, undefined, "usr_ada.1001"]) {
    const by = ownerId === undefined ? {} : { ownerId };
    const work = [
      await host.ask("send_prompt", { sessionId, text, ...by }),
      await host.ask("run_command", { sessionId, command: "review", arguments: "", ...by }),
      await host.ask("run_shell", { sessionId, command: "true", ...by }),
      await host.ask("summarize_session", { sessionId, ...by }),
    ];
    assert.deepEqual(
      work.map(codeOf),
      work.map(() => "account_not_yours"),
      `${ownerId}`,
    );
  }
  const widen = { sessionId, mode: "auto" as const };
  assert.equal(codeOf(await host.ask("set_session_mode", widen)), "account_not_yours");
  assert.equal(codeOf(await host.ask("set_session_mode", { sessionId, mode: "ask" })), "done");
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"])]), ownerId: ada });
  const { requestId, shownHash } = await host.until(sessionId, "request_raised");
  const answer = { sessionId, requestId, shownHash, answer: "once" as const, answers: null };
  assert.equal(
    codeOf(await host.ask("answer_request", { ...answer, ownerId: bo })),
    "account_not_yours",
  );
  const no = { ...answer, answer: "reject" as const, ownerId: bo };
  assert.deepEqual(await host.must("answer_request", no), { status: "answered" });
  await host.until(sessionId, "turn_finished");
  const fork = { ...wantedFork(sessionId), kind: "claude_code" as const, ownerId: bo };
  assert.equal((await host.must("fork_session", fork)).ownerId, null);
  await host.must("send_prompt", { sessionId: fork.sessionId, text, ownerId: bo });
  await host.close();
});

test("a session keeps its account across a restart of the daemon", async () => {
  using small = makeSmallHost();
  const { host, accounts, sessionId } = await startWithAccount(small);
  await host.close();
  const { host: again } = openSmall(small, accounts);
  const text = script([{ text: "after the restart" }]);
  await again.must("send_prompt", { sessionId, text, ownerId: ada });
  await again.until(sessionId, "turn_finished", ({ outcome }) => outcome === "completed");
  assert.equal(small.agent.sessions.size, 0);
  await again.close();
});

test("unlinking during a turn ends the agents, logs out and deletes the home", async () => {
  using small = makeSmallHost();
  setPolicy(small, "shared-logins = yes");
  const { host, accounts } = openSmall(small);
  await logIn(host, ada);
  await logIn(host, bo);
  const asked = claude(small, ada);
  const other = claude(small, bo);
  const { sessionId } = asked;
  await host.must("start_session", asked);
  await host.must("start_session", other);
  const waits = script([asks(["ls"])]);
  await host.must("send_prompt", { sessionId, text: waits, ownerId: ada });
  await host.until(sessionId, "request_raised");
  const unlink = { ownerId: ada, kind: "claude_code" as const };
  assert.deepEqual(await host.must("unlink_identity", unlink), { unlinked: true });
  await host.until(sessionId, "turn_finished", ({ outcome }) => outcome === "interrupted");
  await host.until(sessionId, "session_status", ({ code }) => code === "account_unlinked");
  const homes = join(small.directory, "state/homes/ins_small");
  assert.equal(existsSync(join(homes, ada, "claude_code")), false);
  assert.ok(accounts.revoked[0]?.startsWith(join(homes, ada)));
  const later = await host.ask("send_prompt", { sessionId, text: waits, ownerId: ada });
  assert.equal(codeOf(later), "agent_not_ready");
  assert.match(JSON.stringify(later), /unlinked.*fork_session/);
  const text = script([{ text: "still here" }]);
  await host.must("send_prompt", { sessionId: other.sessionId, text, ownerId: bo });
  await host.until(other.sessionId, "turn_finished", ({ outcome }) => outcome === "completed");
  assert.deepEqual(await host.must("unlink_identity", unlink), { unlinked: false });
  assert.deepEqual(await host.must("unlink_identity", { ownerId: bo, kind: null }), {
    unlinked: true,
  });
  await host.close();
});

test("a host whose owner no longer accepts shared logins uses no account", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await startWithAccount(small);
  setPolicy(small, "shared-logins = no");
  const text = script([{ text: "done" }]);
  for (const outcome of [
    await host.ask("send_prompt", { sessionId, text, ownerId: ada }),
    await host.ask("start_session", claude(small, ada)),
  ]) {
    assert.equal(codeOf(outcome), "agent_not_ready");
    assert.match(JSON.stringify(outcome), /shared-logins = yes/);
  }
  await host.close();
});

test("a start that is under way when its account is unlinked does not use the account", async () => {
  using small = makeSmallHost();
  setPolicy(small, "shared-logins = yes");
  const { host } = openSmall(small);
  await logIn(host, ada);
  const asked = claude(small, ada);
  const { sessionId } = asked;
  const starting = host.ask("start_session", asked);
  await until("it has its account", () => host.journal.driven.get(sessionId) !== undefined);
  await host.must("unlink_identity", { ownerId: ada, kind: null });
  assert.equal(codeOf(await starting), "interrupted");
  assert.equal(host.journal.driven.get(sessionId), undefined);
  assert.equal(linesOf(git(small.repository, "worktree", "list")), 1);
  await host.close();
});

test("no session starts in the daemon's own directory", async () => {
  using small = makeSmallHost();
  const root = small.directory;
  writeFileSync(join(small.directory, "policy"), `root = ${root}\n`);
  const { host } = openSmall(small);
  const directory = join(small.directory, "state/homes");
  const inside = { ...claude(small), directory, useWorktree: false };
  assert.equal(codeOf(await host.ask("start_session", inside)), "not_found");
  await host.close();
});

test("N7: homes of another instance are removed, and names cannot lead out of the directory", () => {
  using small = makeSmallHost();
  const directory = join(small.directory, "homes");
  const unnamed = { account: null, plan: null, expiresAt: null };
  const link = { ownerId: ada, kind: "codex" as const, ...unnamed, access: bySubscription };
  const former = openHomes(directory, "ins_former");
  former.open(ada, "codex");
  former.save(link);
  assert.deepEqual(former.list(), [link]);
  mkdirSync(join(directory, "ins_former", "usr_broken"), { recursive: true });
  assert.deepEqual(former.list(), [link]);
  // A login that was not completed.
  const { home } = former.open(bo, "codex");
  assert.deepEqual(openHomes(directory, "ins_former").list(), [link]);
  assert.equal(existsSync(home), false);
  const next = openHomes(directory, "ins_next");
  assert.deepEqual(next.list(), []);
  assert.equal(existsSync(join(directory, "ins_former")), false);
  for (const ownerId of ["../ins_next", "usr_a/../../x.1", "", "usr_ada"]) {
    assert.throws(() => next.open(ownerId, "codex"));
  }
  next.removeAll();
  assert.equal(existsSync(directory), false);
});
