// Forks between the three real agents: what the new agent's model receives, which files the fork has, and that
// the original stays as it was.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AgentKind, type SessionRecord } from "@hawser/contract";
import type { Calls } from "@hawser/testkit/caller.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import { stepsOf } from "@hawser/testkit/kind-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";
import {
  logOf,
  outcomeOf,
  scripted,
  startSession,
  untilEnd,
  untilLogged,
  updatesOf,
  worktreeOf,
} from "../session-steps.ts";

useWorld({ agents: AgentKind.options, hosts: 1 });

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8" });

/** What a fork must have, and what a fork must not change. */
const treeOf = (directory: string) => ({
  head: git(directory, "rev-parse", "HEAD"),
  status: git(directory, "status", "--porcelain", "--untracked-files=all"),
  diff: git(directory, "diff", "HEAD"),
});

const canary = "forkcanary4711";

/** A session with two turns, a commit, staged, unstaged and untracked changes, and a shell command. */
async function makeOriginal(caller: Calls, host: TestHost, agentKind: AgentKind) {
  const session = await startSession(caller, host, { agentKind, title: `Original ${agentKind}` });
  const { sessionId } = session;
  const place = worktreeOf(host, session.worktreeBranch!);
  const write = stepsOf[agentKind].write(join(place, "made.txt"), "made\n");
  await turn(caller, sessionId, `Look for the heron in ${agentKind}.`, write, {
    text: `The heron of ${agentKind} is grey.`,
  });
  await turn(caller, sessionId, "And the crane?", { text: `The crane of ${agentKind} is white.` });
  await caller.run_shell({ sessionId, command: `true ${canary}` });
  await untilLogged(caller, sessionId, "shell");
  git(place, "add", "made.txt");
  writeFileSync(join(place, "made.txt"), "made and changed\n");
  writeFileSync(join(place, "untracked.txt"), "more\n");
  return { session, sessionId, place };
}

async function turn(caller: Calls, sessionId: string, words: string, ...steps: object[]) {
  const text = scripted(words, ...(steps as Parameters<typeof scripted>[1][]));
  const { turnId } = await caller.send_prompt({ sessionId, text });
  assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "completed");
}

/** Forks, and waits until the fork can be prompted. */
async function fork(
  caller: Calls,
  input: Parameters<Calls["fork_session"]>[0],
): Promise<SessionRecord> {
  const { sessionId } = await caller.fork_session(input);
  return until(
    "the fork has started",
    120_000,
    () => caller.get_session_summary({ sessionId }),
    ({ directory }) => directory !== null,
  );
}

/** The requests that the model received for a prompt with these words, as text. */
async function askedBy({ world }: Context, work: () => Promise<void>): Promise<string> {
  const before = world.model!.requests.length;
  await work();
  const asked = world.model!.requests.slice(before).filter(({ kind }) => kind === "scripted");
  assert.ok(asked.length > 0);
  return JSON.stringify(asked.map(({ body }) => body));
}

for (const from of AgentKind.options) {
  scenario(
    `A session of ${from} is forked to each kind, with the whole conversation or a summary of it`,
    [
      "fork_session.new",
      "fork_session.original",
      "fork_session.mode.default",
      "fork_session.mode.compress",
      "record.session.forkedFrom",
    ],
    async (context) => {
      const { world, caller } = context;
      const host = world.hosts[0]!;
      const { session, sessionId, place } = await makeOriginal(caller, host, from);
      const look = async () => ({
        summary: await caller.get_session_summary({ sessionId }),
        log: await logOf(caller, sessionId),
        tree: treeOf(place),
      });
      const before = await look();
      assert.equal(before.summary.forkedFrom, null);
      for (const agentKind of AgentKind.options) {
        for (const mode of ["full", "compress"] as const) {
          const label = `${from} to ${agentKind}, ${mode}`;
          // `full` is the default.
          const chosen = mode === "full" ? {} : { mode };
          const made = await fork(caller, { sessionId, agentKind, ...chosen });
          assert.notEqual(made.sessionId, sessionId, label);
          assert.deepEqual([made.forkedFrom, made.agentKind], [sessionId, agentKind], label);
          assert.notEqual(made.worktreeBranch, session.worktreeBranch, label);
          const own = worktreeOf(host, made.worktreeBranch!);
          assert.deepEqual(treeOf(own), before.tree, label);
          assert.equal(readFileSync(join(own, "untracked.txt"), "utf8"), "more\n", label);
          const asked = await askedBy(context, () =>
            turn(caller, made.sessionId, "Go on.", { text: "Gone on." }),
          );
          const said = [
            `heron in ${from}`,
            `heron of ${from} is grey`,
            `crane of ${from} is white`,
          ];
          for (const words of said) assert.equal(asked.includes(words), mode === "full", label);
          assert.equal(asked.includes("This is the scripted summary"), mode === "compress", label);
          assert.ok(!asked.includes(canary), `${label}: the text of a shell command`);
          const [forked] = updatesOf(await logOf(caller, made.sessionId), "session_forked");
          assert.deepEqual([forked?.fromSessionId, forked?.mode], [sessionId, mode], label);
          assert.ok(!JSON.stringify(await logOf(caller, made.sessionId)).includes(canary), label);
          await caller.end_session({ sessionId: made.sessionId });
        }
      }
      assert.deepEqual(await look(), before);
      await caller.end_session({ sessionId });
    },
  );
}

scenario(
  "Sessions that are active, detached or ended are forked",
  ["fork_session.any_status"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { sessionId, place } = await makeOriginal(caller, host, "claude_code");
    const was = treeOf(place);
    const forks: string[] = [];
    const forkNow = async (status: string) => {
      assert.equal((await caller.get_session_summary({ sessionId })).status, status);
      const made = await fork(caller, { sessionId, agentKind: "opencode" });
      assert.deepEqual(treeOf(worktreeOf(host, made.worktreeBranch!)), was, status);
      forks.push(made.sessionId);
    };
    await forkNow("active");
    await caller.restart_agent_kind({ instanceId: host.instanceId, kind: "claude_code" });
    await until(
      "the session is detached",
      20_000,
      () => caller.get_session_summary({ sessionId }),
      ({ status }) => status === "detached",
    );
    await forkNow("detached");
    await caller.end_session({ sessionId });
    await forkNow("ended");
    assert.equal(new Set([...forks, sessionId]).size, 4);
    await caller.delete_session({ sessionIds: [...forks, sessionId] });
  },
);

scenario(
  "A fork to a kind that the host does not have is refused, and leaves no session",
  ["fork_session.ready"],
  async ({ world, caller }) => {
    const host = await world.addHost({ agents: ["opencode"] });
    const { sessionId } = await startSession(caller, host);
    const listed = async () => (await caller.list_sessions({})).sessions.length;
    const before = await listed();
    const reply = await caller.try("fork_session", { sessionId, agentKind: "codex" });
    assertRefused(reply, 409, "agent_not_ready");
    assert.equal(await listed(), before);
    await caller.end_session({ sessionId });
  },
);
