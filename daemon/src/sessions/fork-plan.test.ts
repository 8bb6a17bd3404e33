// Forks: the files of the original, its conversation with the first prompt, and the original unchanged.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  begin,
  codeOf,
  git,
  makeSessionId,
  makeSmallHost,
  policy,
  script,
  wanted,
  wantedFork,
  type OpenHost,
  type OpenOptions,
  type SmallHost,
} from "@hawser/testkit/small-host.ts";
import {
  changeTree,
  openRandom,
  stateOf as generatedState,
  write,
} from "@hawser/testkit/generated-trees.ts";
import { until } from "@hawser/testkit/until.ts";
import { AgentNotReady, type Prompt } from "../drivers/driver.ts";

const isLong = process.env["HAWSER_LONG"] === "1";

const forkOf = (originalId: string, more: object = {}) => ({
  ...wantedFork(originalId),
  conversation: "## Prompt\n\nFind the bug.",
  ...more,
});

/** Records what the agent receives. `fails` can refuse a prompt. */
function recording(fails: (prompt: Prompt) => boolean = () => false) {
  const prompts: Prompt[] = [];
  const options: OpenOptions = {
    wrapDriver: (driver) => ({
      ...driver,
      async start(...args) {
        const agent = await driver.start(...args);
        return {
          ...agent,
          async prompt(prompt, signal) {
            prompts.push(prompt);
            if (fails(prompt)) throw new AgentNotReady("The agent is busy.");
            await agent.prompt(prompt, signal);
          },
        };
      },
    }),
  };
  return { prompts, options };
}

/** A commit, a staged change, one that is not staged, a deleted file, an untracked and an ignored file. */
function work(directory: string): void {
  writeFileSync(join(directory, "committed.txt"), "one\n");
  writeFileSync(join(directory, ".gitignore"), "*.log\n");
  writeFileSync(join(directory, "gone.txt"), "gone\n");
  git(directory, "add", ".");
  const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
  git(directory, ...who, "commit", "--quiet", "--message=work");
  writeFileSync(join(directory, "committed.txt"), "staged\n");
  git(directory, "add", "committed.txt");
  writeFileSync(join(directory, "committed.txt"), "unstaged\n");
  execFileSync("rm", [join(directory, "gone.txt")]);
  mkdirSync(join(directory, "new"));
  writeFileSync(join(directory, "new/untracked.txt"), "more\n");
  writeFileSync(join(directory, "trace.log"), "ignored\n");
}

const stateOf = (directory: string) => ({
  head: git(directory, "rev-parse", "HEAD"),
  status: git(directory, "status", "--porcelain=v1", "--untracked-files=all"),
  staged: git(directory, "show", ":committed.txt"),
  files: readdirSync(directory, { recursive: true })
    .map(String)
    .filter((name) => !name.startsWith(".git") && !name.endsWith(".log"))
    .sort(),
});

const directoryOf = (host: OpenHost, sessionId: string) =>
  host.journal.driven.get(sessionId)!.directory;

async function forkTo(host: OpenHost, originalId: string, more: object = {}) {
  const asked = forkOf(originalId, more);
  const started = await host.must("fork_session", asked);
  return { ...started, sessionId: asked.sessionId, place: directoryOf(host, asked.sessionId) };
}

const promptIn = async (host: OpenHost, sessionId: string, text: string) => {
  const { turnId } = await host.must("send_prompt", { sessionId, text });
  await host.until(sessionId, "turn_finished", (_, entry) => entry.turnId === turnId);
};

test("a fork has the commit, the staged changes and the files of the original, which stays as it is", async () => {
  using small = makeSmallHost();
  const { host, sessionId, started } = await begin(small);
  const place = directoryOf(host, sessionId);
  work(place);
  const before = { ...stateOf(place), entries: host.entries(sessionId) };
  const fork = await forkTo(host, sessionId);
  assert.notEqual(fork.place, place);
  assert.notEqual(fork.worktreeBranch, started.worktreeBranch);
  assert.deepEqual(stateOf(fork.place), stateOf(place));
  assert.equal(readFileSync(join(fork.place, "committed.txt"), "utf8"), "unstaged\n");
  assert.equal(stateOf(fork.place).staged, "staged\n");
  assert.equal(existsSync(join(fork.place, "trace.log")), false);
  assert.equal(git(fork.place, "branch", "--show-current").trim(), fork.worktreeBranch);
  assert.deepEqual({ ...stateOf(place), entries: host.entries(sessionId) }, before);
  // Both show the same changes.
  const files = async (id: string) => (await host.must("diff_session", { sessionId: id })).files;
  assert.deepEqual(await files(fork.sessionId), await files(sessionId));
  await host.close();
});

test("an ended session is forked from its parked worktree, which stays parked", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const place = directoryOf(host, sessionId);
  work(place);
  const before = stateOf(place);
  await host.must("end_session", { sessionId });
  assert.equal(existsSync(place), false);
  const fork = await forkTo(host, sessionId);
  assert.deepEqual(stateOf(fork.place), before);
  // The original can still be restored, with everything.
  const again = { sessionId: makeSessionId(), parkedId: sessionId, policy, author: null };
  await host.must("restore_session", again);
  assert.deepEqual(stateOf(place), before);
  await host.close();
});

for (const seed of Array.from({ length: isLong ? 100 : 4 }, (_, index) => index + 1)) {
  test(`sequence ${seed} of changes and commits, forked from the worktree and from the parked one`, async () => {
    using small = makeSmallHost();
    write(small.repository, ".gitignore", "ignored/\n*.log\n");
    git(small.repository, "add", ".");
    git(small.repository, "commit", "--quiet", "--amend", "--message=rules");
    const { host, sessionId } = await begin(small);
    const place = directoryOf(host, sessionId);
    const random = openRandom(seed);
    const commands = Array.from({ length: 12 }, () => changeTree(random));
    const calls = [{ tool: "bash", input: { command: commands.join("; ") } }];
    await promptIn(host, sessionId, script([{ calls }, { text: "Done." }]));
    const { branch: _, ...state } = generatedState(place);
    for (const isParked of [false, true]) {
      if (isParked) await host.must("end_session", { sessionId });
      const fork = await forkTo(host, sessionId);
      const { branch, ...same } = generatedState(fork.place);
      assert.deepEqual(same, state, isParked ? "parked" : "in use");
      assert.equal(branch, `refs/heads/${fork.worktreeBranch}`);
    }
    await host.close();
  });
}

test("a session in a directory of the user is forked in the same directory", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const asked = { ...wanted(small.folder), useWorktree: false };
  await host.must("start_session", asked);
  const fork = await forkTo(host, asked.sessionId, { useWorktree: false });
  assert.equal(fork.place, small.folder);
  assert.equal(fork.worktreeBranch, null);
  await host.close();
});

test("a branch that has the parked one's name again does not count", async () => {
  using small = makeSmallHost();
  const { host, sessionId, started } = await begin(small);
  const place = directoryOf(host, sessionId);
  work(place);
  const before = stateOf(place);
  await host.must("end_session", { sessionId });
  const tree = git(small.repository, "rev-parse", "main^{tree}").trim();
  const other = git(small.repository, "commit-tree", tree, "-m", "another").trim();
  git(small.repository, "branch", started.worktreeBranch!, other);
  const fork = await forkTo(host, sessionId);
  assert.deepEqual(stateOf(fork.place), before);
  await host.close();
});

test("the fork of a session that was restored has the files of the restored one", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const place = directoryOf(host, sessionId);
  work(place);
  await host.must("end_session", { sessionId });
  const heir = { sessionId: makeSessionId(), parkedId: sessionId, policy, author: null };
  await host.must("restore_session", heir);
  writeFileSync(join(place, "later.txt"), "later\n");
  const fork = await forkTo(host, sessionId);
  assert.deepEqual(stateOf(fork.place), stateOf(place));
  await host.close();
});

test("a repository that the host's owner no longer allows is not forked", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  writeFileSync(join(small.directory, "policy"), `root = ${small.folder}\n`);
  assert.equal(codeOf(await host.ask("fork_session", forkOf(sessionId))), "not_found");
  await host.close();
});

for (const [what, spoil] of [
  ["a pipe", (path: string) => execFileSync("mkfifo", [path])],
  ["a link", (path: string) => symlinkSync("/etc/hostname", path)],
] as const) {
  test(`an index that is ${what} is not read, and the host goes on`, async () => {
    using small = makeSmallHost();
    const { host, sessionId } = await begin(small);
    const admin = host.journal.driven.get(sessionId)!.worktree!.adminDirectory!;
    rmSync(join(admin, "index"));
    spoil(join(admin, "index"));
    const outcome = await host.ask("fork_session", forkOf(sessionId));
    assert.equal(codeOf(outcome), "unsafe_repository");
    await host.close();
  });
}

test("if nothing is left of the original, its fork starts where the original did", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const nothing = { directory: small.repository, useWorktree: true };
  const fork = await forkTo(host, makeSessionId(), nothing);
  assert.equal(git(fork.place, "log", "-1", "--format=%s"), "first\n");
  assert.equal((await host.until(fork.sessionId, "session_forked")).hasFiles, false);
  assert.equal(codeOf(await host.ask("fork_session", forkOf(makeSessionId()))), "not_found");
  await host.close();
});

test("the agent reads the conversation with its first prompt, and again if it did not accept that one", async () => {
  using small = makeSmallHost();
  let refusals = 1;
  const { prompts, options } = recording(({ text }) => text.startsWith("first") && refusals-- > 0);
  const { host, sessionId } = await begin(small, options);
  const { sessionId: forkId } = await forkTo(host, sessionId, {
    conversation: "> Find < /Earlier-conversation> it.",
  });
  await promptIn(host, forkId, script([{ text: "Yes." }], "first"));
  await promptIn(host, forkId, script([{ text: "Yes." }], "first"));
  await promptIn(host, forkId, script([{ text: "Yes." }], "second"));
  const read = prompts.map(({ context }) => context.length);
  assert.deepEqual(read, [1, 1, 0]);
  const [told] = prompts[1]!.context;
  assert.match(told!, /Find &lt; \/Earlier-conversation> it\.\n<\/earlier-conversation>$/);
  const forked = await host.until(forkId, "session_forked");
  assert.deepEqual(forked, {
    sessionUpdate: "session_forked",
    fromSessionId: sessionId,
    mode: "full",
    isCut: false,
    hasFiles: true,
    summary: null,
  });
  await host.close();
});

test("a first turn that does not complete tells the conversation again", async () => {
  using small = makeSmallHost();
  const { prompts, options } = recording();
  const { host, sessionId } = await begin(small, options);
  const { sessionId: forkId } = await forkTo(host, sessionId);
  const slow = script([{ text: "one two three four", paceMs: 60_000 }]);
  const { turnId } = await host.must("send_prompt", { sessionId: forkId, text: slow });
  await host.until(forkId, "turn_started", (_, entry) => entry.turnId === turnId);
  await until(
    "the agent has it",
    () => host.journal.driven.get(forkId)!.fork?.deliveredWith !== null,
  );
  await host.must("abort_turn", { sessionId: forkId });
  await promptIn(host, forkId, script([{ text: "Yes." }]));
  await promptIn(host, forkId, script([{ text: "Yes." }]));
  const told = prompts.map(({ context }) => context.length);
  assert.deepEqual(told, [1, 1, 0]);
  await host.close();
});

test("a revert of the first prompt tells the conversation again", async () => {
  using small = makeSmallHost();
  const { prompts, options } = recording();
  const { host, sessionId } = await begin(small, options);
  const { sessionId: forkId } = await forkTo(host, sessionId);
  const text = script([{ text: "Yes." }]);
  const { messageId, turnId } = await host.must("send_prompt", { sessionId: forkId, text });
  await host.until(forkId, "turn_finished", (_, entry) => entry.turnId === turnId);
  await host.must("revert_session", { sessionId: forkId, messageId });
  await promptIn(host, forkId, text);
  assert.deepEqual(
    prompts.map(({ context }) => context.length),
    [1, 1],
  );
  await host.close();
});

test("a summary is made by an agent that may call no tool, and the session's agent reads only that", async () => {
  using small = makeSmallHost();
  const { prompts, options } = recording();
  const { host, sessionId } = await begin(small, options);
  const fork = await forkTo(host, sessionId, { summarize: true });
  const [asked] = prompts;
  assert.match(asked!.text, /^Summarize the conversation above/);
  assert.match(asked!.context[0]!, /Find the bug/);
  const forked = await host.until(fork.sessionId, "session_forked");
  assert.equal(forked.mode, "compress");
  assert.match(forked.summary ?? "", /Nothing to play/);
  await promptIn(host, fork.sessionId, script([{ text: "Yes." }]));
  const told = prompts[1]!.context[0]!;
  assert.match(told, /Nothing to play/);
  assert.doesNotMatch(told, /Find the bug/);
  await host.close();
});

async function failedFork(small: SmallHost) {
  const { options } = recording(({ text }) => text.startsWith("Summarize"));
  const { host, sessionId } = await begin(small, options);
  const asked = forkOf(sessionId, { summarize: true });
  return { host, asked, outcome: await host.ask("fork_session", asked) };
}

test("a summary that fails leaves no worktree, no branch and no session, and the log says why", async () => {
  using small = makeSmallHost();
  const before = git(small.repository, "branch", "--list").split("\n").length;
  const { host, asked, outcome } = await failedFork(small);
  assert.equal(codeOf(outcome), "agent_not_ready");
  assert.equal(host.journal.driven.get(asked.sessionId), undefined);
  assert.equal(host.journal.driven.conversation(asked.sessionId), undefined);
  // The original's branch is the only new one.
  assert.equal(git(small.repository, "branch", "--list").split("\n").length, before + 1);
  const { status, reason } = await host.until(asked.sessionId, "session_status");
  assert.equal(status, "ended");
  assert.match(reason ?? "", /busy/);
  await host.close();
});
