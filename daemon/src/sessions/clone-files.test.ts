// The files of sessions that own a clone, with real git and the scripted agent: reverting them, and
// restoring an ended session. The agent can change the clone's git directory.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeGithubHome } from "@hawser/testkit/github-home.ts";
import { startGithub, type Github } from "@hawser/testkit/github.ts";
import { until } from "@hawser/testkit/until.ts";
import {
  changeTree,
  filesOf,
  git,
  isIgnored,
  knownOf,
  openRandom,
  stateOf,
  write,
  type Random,
} from "@hawser/testkit/generated-trees.ts";
import { isEmpty, makeCloneHost, wantedClone } from "@hawser/testkit/clone-host.ts";
import {
  makeSessionId,
  policy,
  script,
  wantedFork,
  type OpenHost,
} from "@hawser/testkit/small-host.ts";

const token = "gho_cloneFiles";
const author = { name: "Grace Hopper", email: "grace@example.com" };
const isLong = process.env["HAWSER_LONG"] === "1";
let github: Github;

before(async () => {
  github = await startGithub({
    token,
    repositories: [{ name: "acme/widget" }, { name: "acme/empty", empty: true }],
  });
});
after(async () => {
  await github?.[Symbol.asyncDispose]();
});

const gitSettings = "[user]\n\tname = Ada\n\temail = ada@acme.example\n";
const makeHost = (where?: string) =>
  makeCloneHost((home) => makeGithubHome(github, home, { token, gitSettings }), where);

async function start(host: OpenHost, repo = "acme/widget") {
  const wanted = { ...wantedClone({ repo }), author };
  const started = await host.must("start_session_in_clone", wanted);
  return { sessionId: wanted.sessionId, place: started.directory, started };
}

async function turn(host: OpenHost, sessionId: string, command: string): Promise<string> {
  const text = script([{ calls: [{ tool: "bash", input: { command } }] }, { text: "Done." }]);
  const { messageId, turnId } = await host.must("send_prompt", { sessionId, text });
  await host.until(sessionId, "turn_finished", (_update, entry) => entry.turnId === turnId);
  return messageId;
}

const restore = (parkedId: string, sessionId = makeSessionId()) => ({
  sessionId,
  parkedId,
  policy,
  author,
});

async function codeOf(outcome: ReturnType<OpenHost["ask"]>): Promise<string> {
  const told = await outcome;
  assert.ok(told && "refusal" in told, JSON.stringify(told));
  return told.refusal.code;
}

test("a revert in a clone undoes the turn's commits and branches, and keeps the files that were there", async () => {
  using cloning = makeHost();
  const host = cloning.open();
  const { sessionId, place, started } = await start(host);
  assert.ok(started.capabilities.includes("revert") && started.capabilities.includes("diff"));
  await turn(
    host,
    sessionId,
    "git checkout -qb side; echo 1 > one.txt; git add .; git commit -qm one",
  );
  assert.equal(git(place, "log", "-1", "--format=%an <%ae>"), "Grace Hopper <grace@example.com>");
  writeFileSync(join(place, "between.txt"), "by the user\n");
  const was = stateOf(place);
  const second = await turn(
    host,
    sessionId,
    "rm between.txt; echo 2 > two.txt; git add -A; git commit -qm two; git tag here; git checkout -q main; git branch -qD side; echo x > three.txt",
  );
  const dropped = git(place, "rev-parse", "here");
  git(place, "tag", "--delete", "here");
  await host.must("revert_session", { sessionId, messageId: second });
  assert.deepEqual(stateOf(place), was);
  assert.equal(was.branch, "refs/heads/side", "whatever branch it was on");
  const kept = git(place, "for-each-ref", "--format=%(refname)", "refs/hawser/reverted");
  assert.equal(git(place, "show", `${kept}:three.txt`), "x");
  git(place, "reflog", "expire", "--expire=now", "--all");
  git(place, "gc", "--quiet", "--prune=now");
  assert.equal(git(place, "cat-file", "-t", dropped), "commit", "only its reflog knew it");
  await turn(host, sessionId, "echo 4 > four.txt");
  await host.close();
});

test("a clone of an empty repository can be reverted to before its first commit, and has no diff", async () => {
  using cloning = makeHost();
  const host = cloning.open();
  const { sessionId, place, started } = await start(host, "acme/empty");
  assert.ok(started.capabilities.includes("revert") && !started.capabilities.includes("diff"));
  assert.equal(await codeOf(host.ask("diff_session", { sessionId })), "not_a_repository");
  const was = stateOf(place);
  const first = await turn(host, sessionId, "echo 1 > one.txt; git add .; git commit -qm one");
  assert.notEqual(stateOf(place).head, "");
  await host.must("revert_session", { sessionId, messageId: first });
  assert.deepEqual(stateOf(place), was);
  await host.close();
});

/** Changes that an agent can make only in a repository of its own. */
const withBranches = (random: Random) => [
  `git checkout -q -B side-${random.below(3)}`,
  `git checkout -q -f main`,
  `git branch -q -D side-${random.below(3)}`,
  `git checkout -q --orphan new-${random.below(3)}`,
  `git stash -q --include-untracked`,
  `git pack-refs --all`,
];

for (const seed of Array.from({ length: isLong ? 100 : 4 }, (_, index) => index + 1)) {
  test(`sequence ${seed} of changes, commits, branches, reverts and forks in a clone`, async () => {
    using cloning = makeHost();
    const host = cloning.open();
    const repo = seed % 4 === 0 ? "acme/empty" : "acme/widget";
    const { sessionId, place } = await start(host, repo);
    write(place, ".git/info/exclude", "ignored/\n*.log\n");
    const random = openRandom(seed);
    const states: { messageId: string; state: ReturnType<typeof stateOf> }[] = [];
    for (let step = 0; step < 7; step++) {
      if (states.length > 0 && random.below(3) === 0) {
        const to = random.below(states.length);
        const { messageId, state } = states[to]!;
        const ignored = () => filesOf(place, (path) => !isIgnored(path) && path !== "ignored");
        const left = ignored();
        await host.must("revert_session", { sessionId, messageId });
        assert.deepEqual(stateOf(place), state, `step ${step}`);
        assert.deepEqual(ignored(), left);
        states.splice(to);
        continue;
      }
      const state = stateOf(place);
      const change = () => changeTree(random, withBranches(random));
      const commands = [change(), change(), change()];
      states.push({ messageId: await turn(host, sessionId, commands.join("; ")), state });
    }
    git(place, "fsck", "--no-dangling");
    const last = stateOf(place);
    const fork = await host.must("fork_session", wantedFork(sessionId));
    assert.deepEqual(stateOf(fork.directory), last, "the fork");
    await host.must("end_session", { sessionId });
    const late = await host.must("fork_session", wantedFork(sessionId));
    assert.deepEqual(stateOf(late.directory), last, "the fork of the parked clone");
    await host.close();
  });
}

test("a parked clone is restored unchanged as a new session, and pushes to the same branch", async () => {
  using cloning = makeHost();
  let host = cloning.open();
  const { sessionId, place, started } = await start(host);
  await turn(host, sessionId, "echo w > work.txt; git add -A; git commit -qm work");
  const pullRequest = { title: "Work", body: "" };
  const pushed = await host.must("push_session", { sessionId, pullRequest });
  const undone = await turn(host, sessionId, "echo undone > undone.txt");
  await host.must("revert_session", { sessionId, messageId: undone });
  await turn(
    host,
    sessionId,
    "echo s > s.txt; git stash -qu; git commit -qm unpushed --allow-empty; echo u > untracked.txt; echo t > t.txt; git add t.txt",
  );
  await host.must("end_session", { sessionId });
  assert.ok(isEmpty(cloning.checkouts));
  const tree = join(cloning.parked, sessionId, "tree", "widget");
  const was = wholeOf(tree);
  assert.deepEqual(Object.keys(was.files), ["README.md", "t.txt", "untracked.txt", "work.txt"]);
  assert.notEqual(was.stashes, "");
  const { parkedSessions } = await host.must("list_parked_sessions", {});
  const [parked] = parkedSessions;
  assert.deepEqual(
    [parkedSessions.length, parked!.sessionId, parked!.title, parked!.branch],
    [1, sessionId, "In a clone", null],
  );
  assert.ok(parked!.sizeBytes > 0);

  // Cut after everything was moved and before the session counted.
  const lost = makeSessionId();
  await host.sessions.restore(restore(sessionId, lost), AbortSignal.timeout(30_000));
  assert.ok(existsSync(place));
  await host.close();
  host = cloning.open();
  await until("it is undone", () => host.journal.driven.get(lost) === undefined);
  assert.equal(existsSync(place), false);
  assert.deepEqual(host.entries(lost), [], "nobody heard of it");
  // Configuration that the agent would run without asking is found, and the tree is parked again.
  writeFileSync(join(tree, "opencode.json"), '{"plugin":["./x.js"]}');
  const refused = host.ask("restore_session", restore(sessionId));
  assert.equal(await codeOf(refused), "project_config_present");
  assert.equal(existsSync(place), false);
  rmSync(join(tree, "opencode.json"));

  const heir = makeSessionId();
  const restored = await host.must("restore_session", restore(sessionId, heir));
  assert.deepEqual(
    [restored.directory, restored.title, restored.worktreeBranch, restored.capabilities],
    [place, "In a clone", null, started.capabilities],
  );
  assert.deepEqual(wholeOf(place), was);
  const again = host.ask("restore_session", restore(sessionId));
  assert.equal(await codeOf(again), "not_found");
  await until("nothing is left there", () => isEmpty(cloning.parked));
  const message = await turn(host, heir, "git commit -qm more --allow-empty; rm untracked.txt");
  await host.must("revert_session", { sessionId: heir, messageId: message });
  assert.deepEqual(filesOf(place), was.files);
  const repushed = await host.must("push_session", { sessionId: heir, pullRequest });
  assert.deepEqual(
    [repushed.branch, repushed.pullRequestUrl],
    [pushed.branch, pushed.pullRequestUrl],
  );
  const kept = git(place, "for-each-ref", "--format=%(refname)", "refs/hawser");
  assert.ok(kept.includes(`refs/hawser/reverted/${sessionId}/`), "what its reverts kept");
  assert.ok(!kept.includes(`refs/hawser/snapshots/${sessionId}/`));
  await host.must("end_session", { sessionId: heir });
  assert.ok(isEmpty(cloning.checkouts));
  const { sessionId: last } = (await host.must("list_parked_sessions", {})).parkedSessions[0]!;
  assert.equal(last, heir);
  await host.close();
});

/** All refs except the snapshots, which are removed once the tree belongs to another session. */
function wholeOf(place: string) {
  const { admin, ...known } = knownOf(place);
  const kept = Object.entries(admin).filter(([path]) => !path.startsWith("refs/hawser/snapshots/"));
  return {
    ...known,
    admin: Object.fromEntries(kept),
    files: filesOf(place),
    stashes: git(place, "stash", "list"),
  };
}

test("the next daemon removes what a killed daemon left of a restored clone", async () => {
  using cloning = makeHost();
  let host = cloning.open();
  const { sessionId, place } = await start(host);
  await host.must("end_session", { sessionId });
  const heir = makeSessionId();
  const count = await host.sessions.restore(restore(sessionId, heir), AbortSignal.timeout(30_000));
  host.journal.atOnce(count);
  // In the same moment, before anything else can run.
  const closing = host.sessions.close();
  const left = join(cloning.parked, sessionId);
  rmSync(left, { recursive: true, force: true });
  await closing;
  mkdirSync(left, { recursive: true });
  const about = { kind: "opencode", title: null, startedIn: place, model: null, options: {} };
  const checkout = { directory: place, repo: "acme/widget", url: null, viaClient: true };
  const session = { ...about, policy, baseCommit: null, checkout };
  const nothing = { repository: null, branch: null, branchTip: null, adminDirectory: null };
  const record = { ...nothing, worktree: join(place, ".."), session, parkedAt: Date.now() };
  writeFileSync(join(left, "parked.json"), JSON.stringify(record));
  host.journal.close();
  host = cloning.open();
  assert.deepEqual((await host.must("list_parked_sessions", {})).parkedSessions, []);
  await until("it is removed", () => isEmpty(cloning.parked));
  assert.ok(existsSync(place));
  await turn(host, heir, "true");
  await host.close();
});

test("a session whose git directory points elsewhere is neither reverted nor pushed", async () => {
  using cloning = makeHost();
  const host = cloning.open();
  const { small } = cloning;
  const refs = () => git(small.repository, "for-each-ref");
  const mine = [refs(), filesOf(small.repository)];
  const { sessionId, place } = await start(host);
  const first = await turn(host, sessionId, "echo 1 > one.txt");
  const own = join(place, ".git");
  const ways = [
    `echo ${small.repository}/.git > .git/commondir`,
    `mv .git/objects .git/kept; ln -s ${small.repository}/.git/objects .git/objects`,
    `mv .git ../kept; ln -s ${small.repository}/.git .git`,
    `mv .git ../kept; echo "gitdir: ${small.repository}/.git" > .git`,
    `mkdir -p .git/objects/info; echo ${small.repository}/.git/objects > .git/objects/info/alternates`,
    `cp .git/config ../config; git config remote.origin.promisor true`,
  ];
  const undo = [
    () => rmSync(join(own, "commondir")),
    () => shell(place, "rm .git/objects; mv .git/kept .git/objects"),
    () => shell(place, "rm .git; mv ../kept .git"),
    () => shell(place, "rm .git; mv ../kept .git"),
    () => shell(place, "rm .git/objects/info/alternates"),
    () => shell(place, "mv ../config .git/config"),
  ];
  for (const [index, way] of ways.entries()) {
    const led = await turn(host, sessionId, way);
    const pushing = host.ask("push_session", { sessionId, pullRequest: null });
    assert.equal(await codeOf(pushing), "unsafe_repository", way);
    const reverting = host.ask("revert_session", { sessionId, messageId: led });
    assert.equal(await codeOf(reverting), "revert_failed", way);
    assert.equal(await codeOf(host.ask("diff_session", { sessionId })), "diff_failed", way);
    assert.deepEqual([refs(), filesOf(small.repository)], mine, way);
    undo[index]!();
  }
  await host.must("revert_session", { sessionId, messageId: first });
  // The tree is parked all the same, but not restored.
  shell(place, ways[0]!);
  await host.must("end_session", { sessionId });
  assert.equal(await codeOf(host.ask("restore_session", restore(sessionId))), "restore_failed");
  assert.equal(existsSync(place), false);
  assert.deepEqual([refs(), filesOf(small.repository)], mine);
  await host.close();
});

const shell = (place: string, command: string) =>
  execFileSync("sh", ["-c", command], { cwd: place });

test("forks of a clone that is in use or parked are clones with the same state, and independent", async () => {
  using cloning = makeHost();
  const host = cloning.open();
  const { sessionId, place } = await start(host);
  await turn(
    host,
    sessionId,
    "git checkout -q -b topic && echo two > b.txt && git add . && git commit -qm two && echo three > b.txt && git add . && echo four > b.txt && echo new > c.txt",
  );
  const was = stateOf(place);
  const first = await host.must("fork_session", wantedFork(sessionId));
  assert.notEqual(first.directory, place);
  assert.deepEqual(stateOf(first.directory), was);
  assert.equal(
    git(first.directory, "remote", "get-url", "origin"),
    git(place, "remote", "get-url", "origin"),
  );
  assert.deepEqual(stateOf(place), was);
  await host.must("end_session", { sessionId });
  const second = await host.must("fork_session", wantedFork(sessionId));
  assert.deepEqual(stateOf(second.directory), was);
  await host.must("restore_session", restore(sessionId));
  assert.deepEqual(stateOf(place), was);
  git(first.directory, "fsck", "--no-progress");
  await host.close();
});

const spoils: Record<string, (git: string) => void> = {
  "objects of another repository": (at) => {
    mkdirSync(join(at, "objects/info"), { recursive: true });
    writeFileSync(join(at, "objects/info/alternates"), "/tmp\n");
  },
  "a link to a file that git would write": (at) => {
    rmSync(join(at, "info"), { recursive: true });
    mkdirSync(join(at, "info"));
    symlinkSync(join(at, "../../aim"), join(at, "info/sparse-checkout"));
  },
  "a link among the refs": (at) => symlinkSync("/etc/hostname", join(at, "refs/heads/linked")),
  "a pipe among the objects": (at) => execFileSync("mkfifo", [join(at, "objects/pipe")]),
};

for (const [what, spoil] of Object.entries(spoils)) {
  test(`a fork of a clone with ${what} is refused, and nothing is left of it`, async () => {
    using cloning = makeHost();
    const host = cloning.open();
    const { sessionId, place } = await start(host);
    writeFileSync(join(place, "../aim"), "as it was\n");
    spoil(join(place, ".git"));
    const wanted = wantedFork(sessionId);
    assert.equal(await codeOf(host.ask("fork_session", wanted)), "unsafe_repository");
    assert.equal(host.journal.driven.get(wanted.sessionId), undefined);
    assert.equal(existsSync(join(place, "../..", wanted.sessionId)), false);
    assert.equal(readFileSync(join(place, "../aim"), "utf8"), "as it was\n");
    await host.close();
  });
}

test("a fork of a clone has its branches, and no hooks", async () => {
  using cloning = makeHost();
  const host = cloning.open();
  const { sessionId, place } = await start(host);
  git(place, "branch", "tmp_fix");
  write(place, ".git/hooks/post-checkout", "#!/bin/sh\ntouch /tmp/hawser-hook-ran\n");
  const fork = await host.must("fork_session", wantedFork(sessionId));
  assert.equal(git(fork.directory, "rev-parse", "tmp_fix"), git(place, "rev-parse", "tmp_fix"));
  assert.equal(existsSync(join(fork.directory, ".git/hooks/post-checkout")), false);
  await host.close();
});
