// Sessions that own a clone, with real git over https and the scripted agent: a start is complete or
// leaves nothing, the log has its outcome, sessions push from their clone, and their end parks it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeGithubHome } from "@hawser/testkit/github-home.ts";
import { startGithub, type Github } from "@hawser/testkit/github.ts";
import { makeSmallDisk } from "@hawser/testkit/small-disk.ts";
import { until } from "@hawser/testkit/until.ts";
import type { ParkedRecord } from "../worktrees/parked-record.ts";
import { isEmpty, makeCloneHost, wantedClone as wanted } from "@hawser/testkit/clone-host.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { policy, script, type OpenHost } from "@hawser/testkit/small-host.ts";

const token = "gho_cloneSessions";
const place = mkdtempSync(join(tmpdir(), "hawser-clone-sessions-"));
let github: Github;

before(async () => {
  github = await startGithub({
    token,
    repositories: [
      { name: "acme/widget" },
      { name: "acme/private", private: true },
      { name: "acme/large", bytes: 3_000_000 },
      { name: "acme/empty", empty: true },
    ],
  });
});

after(async () => {
  await github?.[Symbol.asyncDispose]();
  removeDirectory(place);
});

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8", stdio: "pipe" }).trim();

const gitSettings = "[user]\n\tname = Ada\n\temail = ada@acme.example\n";
const makeHost = (where?: string) =>
  makeCloneHost((home) => makeGithubHome(github, home, { token, gitSettings }), where);

const untilCloning = (checkouts: string) => until("it clones", () => !isEmpty(checkouts));

/** The outcome of the start in the session's log. */
const statusesOf = (host: OpenHost, sessionId: string) =>
  host.entries(sessionId).flatMap(({ update }) => {
    return update.sessionUpdate === "session_status" ? [update] : [];
  });

test("a session works in its own clone and pushes from it; its end parks the clone", async () => {
  using cloning = makeHost();
  const { open, checkouts, parked } = cloning;
  const host = open();
  const bare = join(github.directory, "acme/widget.git");
  const payload = wanted({ repo: "acme/widget", name: "named" });
  const { sessionId } = payload;
  const started = await host.must("start_session_in_clone", payload);
  const directory = join(checkouts, sessionId, "named");
  assert.deepEqual([started.directory, started.worktreeBranch], [directory, null]);
  assert.equal(git(directory, "worktree", "list").split("\n").length, 1);
  assert.equal(git(directory, "remote", "get-url", "origin"), "https://github.com/acme/widget.git");
  assert.equal(git(directory, "status", "--porcelain"), "");
  const placed = await host.until(sessionId, "session_placed");
  assert.equal(placed.directory, directory);
  await host.must("send_prompt", { sessionId, text: script([{ text: "hello" }]) });
  await host.until(sessionId, "turn_finished");

  writeFileSync(join(directory, "made.txt"), "made\n");
  git(directory, "add", ".");
  git(directory, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "made");
  writeFileSync(join(directory, "left.txt"), "not committed\n");
  const pushed = await host.must("push_session", { sessionId, pullRequest: null });
  assert.match(pushed.branch, /^hawser\/in-a-clone-[a-z0-9]{10}$/);
  assert.equal(pushed.uncommittedChanges, 1);
  assert.equal(git(bare, "rev-parse", pushed.branch), git(directory, "rev-parse", "HEAD"));
  // The branch stays the same after a rename, and whatever branch is checked out.
  await host.must("rename_session", { sessionId, title: "Another name" });
  const again = await host.must("push_session", { sessionId, pullRequest: null });
  assert.equal(again.branch, pushed.branch);

  await host.must("end_session", { sessionId });
  await host.must("end_session", { sessionId });
  assert.deepEqual(readdirSync(checkouts), []);
  const kept = join(parked, sessionId);
  assert.deepEqual(readdirSync(kept).sort(), ["parked.json", "tree"]);
  assert.ok(existsSync(join(kept, "tree", "named", "left.txt")));
  const { session } = JSON.parse(readFileSync(join(kept, "parked.json"), "utf8")) as ParkedRecord;
  const checkout = { directory, repo: "acme/widget", url: null, viaClient: true };
  assert.deepEqual([session?.checkout, session?.pushBranch], [checkout, pushed.branch]);
  const refused = await host.ask("push_session", { sessionId, pullRequest: null });
  assert.ok(refused && "refusal" in refused && refused.refusal.code === "session_ended");
  await host.close();
});

test("files that an agent would run without asking are not checked out into the clone", async () => {
  using cloning = makeHost();
  const { open } = cloning;
  const bare = join(github.directory, "acme/private.git");
  const work = join(place, "work");
  execFileSync("git", ["clone", "--quiet", bare, work]);
  writeFileSync(join(work, "opencode.json"), "{}");
  writeFileSync(join(work, "a.txt"), "one\n");
  git(work, "add", ".");
  git(work, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "configured");
  git(work, "push", "--quiet", "origin", "HEAD:main");
  const host = open();
  const payload = wanted({ repo: "acme/private" });
  const { directory } = await host.must("start_session_in_clone", payload);
  assert.deepEqual(readdirSync(directory).sort(), [".git", "README.md", "a.txt"]);
  const { paths } = await host.until(payload.sessionId, "config_ignored");
  assert.deepEqual(paths, ["opencode.json"]);
  const empty = await host.must("start_session_in_clone", wanted({ repo: "acme/empty" }));
  assert.deepEqual(readdirSync(empty.directory), [".git"]);
  await host.close();
});

test("a clone that fails leaves nothing, and its log says why", async () => {
  using cloning = makeHost();
  const { open, checkouts } = cloning;
  const host = open();
  for (const clone of [{ repo: "acme/nothing" }, { url: "https://github.com/acme/nothing.git" }]) {
    const payload = wanted(clone);
    const outcome = await host.ask("start_session_in_clone", payload);
    assert.ok(outcome && "refusal" in outcome, JSON.stringify(outcome));
    assert.deepEqual(readdirSync(checkouts), []);
    const [status, ...more] = statusesOf(host, payload.sessionId);
    assert.deepEqual([status?.status, more.length], ["ended", 0]);
    assert.equal(status?.reason, outcome.refusal.message);
  }
  for (const clone of [
    { url: "https://a:b@h/x" },
    { url: "ext::sh -c x" },
    { repo: "a/b", name: ".." },
    {},
  ]) {
    const outcome = await host.ask("start_session_in_clone", wanted(clone));
    assert.ok(outcome && "refusal" in outcome && outcome.refusal.code === "unsafe_source");
  }
  await host.close();
});

test("ending a session while it clones stops the clone and leaves nothing (F15)", async () => {
  using cloning = makeHost();
  const { open, checkouts, parked } = cloning;
  const host = open();
  github.hold(true);
  const payload = wanted({ repo: "acme/large" });
  const starting = host.ask("start_session_in_clone", payload);
  await untilCloning(checkouts);
  await host.must("end_session", { sessionId: payload.sessionId });
  assert.deepEqual([readdirSync(checkouts), readdirSync(parked)], [[], []]);
  const outcome = await starting;
  assert.ok(outcome && "refusal" in outcome, JSON.stringify(outcome));
  assert.deepEqual(host.entries(payload.sessionId), []);
  github.hold(false);
  const again = await host.ask("start_session_in_clone", payload);
  assert.ok(again && "refusal" in again && again.refusal.code === "already_exists");
  await host.close();
});

test("a daemon that stops or is killed while it clones leaves nothing", async () => {
  using cloning = makeHost();
  const { open, checkouts } = cloning;
  const first = open();
  github.hold(true);
  const stopped = wanted({ repo: "acme/large" });
  const starting = first.ask("start_session_in_clone", stopped);
  await untilCloning(checkouts);
  await first.sessions.close();
  assert.ok("refusal" in ((await starting) ?? {}));
  assert.deepEqual(readdirSync(checkouts), []);
  // What a killed daemon leaves: a record of a session that starts, and half a clone.
  const cut = wanted({ repo: "acme/large" });
  first.journal.driven.add({
    sessionId: cut.sessionId,
    kind: "opencode",
    directory: join(checkouts, cut.sessionId, "large"),
    worktree: null,
    checkout: {
      directory: join(checkouts, cut.sessionId, "large"),
      repo: "acme/large",
      url: null,
      viaClient: true,
    },
    title: null,
    isTitledByCaller: false,
    model: null,
    options: {},
    policy,
    state: "starting",
    handle: null,
    cursor: null,
    usage: null,
    costUsd: null,
    costIsEstimate: false,
  });
  execFileSync("mkdir", ["-p", join(checkouts, cut.sessionId, "large", ".git")]);
  first.journal.close();
  github.hold(false);

  const second = open();
  for (const { sessionId } of [stopped, cut]) {
    const { reason } = await second.until(sessionId, "session_status");
    assert.match(reason ?? "", /was stopped while/);
    assert.equal(second.journal.driven.hasEnded(sessionId), true);
  }
  assert.deepEqual(readdirSync(checkouts), []);
  await second.close();
});

test("on a full disk a clone leaves nothing and says why, and a push succeeds once there is room (F8)", async (t) => {
  const disk = makeSmallDisk(24);
  if (typeof disk === "string") return t.skip(disk);
  using full = disk;
  using cloning = makeHost(full.directory);
  const { open, checkouts } = cloning;
  const host = open();
  const small = await host.must("start_session_in_clone", wanted({ repo: "acme/widget" }));
  const before = readdirSync(checkouts);
  // Enough room for the command and its outcome, but not for the repository.
  full.fill(1_500_000);
  const payload = wanted({ repo: "acme/large" });
  const outcome = await host.ask("start_session_in_clone", payload);
  assert.ok(outcome && "refusal" in outcome, JSON.stringify(outcome));
  assert.equal(outcome.refusal.code, "clone_failed");
  assert.match(outcome.refusal.message, /disk is full. Make room/);
  assert.deepEqual(readdirSync(checkouts), before);
  const [status] = statusesOf(host, payload.sessionId);
  assert.deepEqual([status?.status, status?.reason], ["ended", outcome.refusal.message]);

  const sessionId = before[0]!;
  git(small.directory, "commit", "--quiet", "--allow-empty", "--message=made");
  const push = () => host.ask("push_session", { sessionId, pullRequest: null });
  full.fill();
  const refused = await push();
  assert.ok(refused && "refusal" in refused, JSON.stringify(refused));
  assert.match(refused.refusal.message, /disk is full/);
  full.empty();
  const pushed = await push();
  assert.ok(pushed && "result" in pushed, JSON.stringify(pushed));
  await host.must("start_session_in_clone", wanted({ repo: "acme/large" }));
  await host.close();
});
