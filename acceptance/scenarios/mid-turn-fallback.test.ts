// A quota that runs out in the middle of a turn, with the real codex and Claude Code: another kind continues, and
// both sessions say so.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { parseId, type SessionRecord } from "@hawser/contract";
import type { Caller } from "@hawser/testkit/caller.ts";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { World } from "@hawser/testkit/world.ts";
import { schedule, scheduleOf, untilSucceeded } from "../firing-steps.ts";
import { stepsOf } from "@hawser/testkit/kind-steps.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  logOf,
  outcomeOf,
  scripted,
  startSession,
  untilEnd,
  untilLogged,
  updatesOf,
  worktreeOf,
  type Step,
} from "../session-steps.ts";

useWorld({ agents: ["codex", "claude_code"], hosts: 1, nodes: 3 });

/** As the service of codex answers when the account has no quota left. */
const usedUp: Step = { status: 429, errorType: "usage_limit_reached" };

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8" });

const treeOf = (directory: string) => ({
  head: git(directory, "rev-parse", "HEAD"),
  status: git(directory, "status", "--porcelain", "--untracked-files=all"),
  diff: git(directory, "diff", "HEAD"),
  made: git(directory, "hash-object", "made.txt"),
});

const summaryOf = (caller: Caller, sessionId: string) => caller.get_session_summary({ sessionId });

async function setUp(caller: Caller, host: TestHost, ...kinds: ("codex" | "claude_code")[]) {
  await caller.update_settings({ fallbackMidTurn: true });
  const chain = kinds.map((kind) => ({ kind }));
  await caller.set_fallback_chain({ instanceId: host.instanceId, chain });
}

/** A session of codex that writes a file and then has no quota left. */
async function useUp(caller: Caller, host: TestHost, words: string) {
  const session = await startSession(caller, host, { agentKind: "codex" });
  const { sessionId } = session;
  const place = worktreeOf(host, session.worktreeBranch!);
  const write = stepsOf.codex.write(join(place, "made.txt"), "half of it\n");
  const text = scripted(words, write, usedUp);
  const { turnId } = await caller.send_prompt({ sessionId, text });
  const events = await untilEnd(caller, sessionId, turnId);
  assert.equal(outcomeOf(events), "failed");
  assert.equal(updatesOf(events, "turn_finished")[0]!.cause, "quota");
  return { session, sessionId, turnId, place };
}

const untilContinued = (caller: Caller, sessionId: string) =>
  until(
    "the turn is continued, or cannot be",
    120_000,
    () => summaryOf(caller, sessionId),
    ({ continuation }) => continuation !== null,
  );

/** The fork, when its turn has ended. */
async function untilForkEnded(caller: Caller, { sessionId }: SessionRecord) {
  const { continuation } = await summaryOf(caller, sessionId);
  const forkId = continuation!.sessionId!;
  await untilLogged(caller, forkId, "turn_finished", () => true, 60_000);
  return { fork: await summaryOf(caller, forkId), log: await logOf(caller, forkId) };
}

const rowsOf = (world: World, sessionId: string) =>
  ownerSql<{ holder: string | null; asked: string | null }>(
    world.database.url,
    `SELECT holder, asked FROM turn_continuations WHERE session_id = $1`,
    [parseId("session", sessionId)],
  );

const forksOf = async (caller: Caller, sessionId: string) =>
  (await caller.list_sessions({ limit: 200 })).sessions.filter(
    ({ forkedFrom }) => forkedFrom === sessionId,
  );

scenario(
  "A turn whose quota runs out continues with the next kind, and both sessions say so",
  [],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    assert.equal((await caller.get_settings({})).fallbackMidTurn, false);
    await setUp(caller, host, "codex", "claude_code");
    const words = "Count the herons of the lake.";
    const { session, sessionId, turnId, place } = await useUp(caller, host, words);
    const before = treeOf(place);
    const { continuation } = await untilContinued(caller, sessionId);
    assert.deepEqual([continuation!.turnId, continuation!.problem], [turnId, null]);
    const { turnReason } = await caller.wait_for_session({ sessionId });
    const names = `The session ${continuation!.sessionId} continues this turn`;
    assert.ok(turnReason?.startsWith(names), turnReason ?? "no reason");
    const { fork, log } = await untilForkEnded(caller, session);
    assert.deepEqual([fork.agentKind, fork.forkedFrom], ["claude_code", sessionId]);
    const { preferredKind, skipped } = fork.fallback!;
    assert.deepEqual(
      [preferredKind, skipped.map(({ kind, reason }) => [kind, reason])],
      ["codex", [["codex", "quota"]]],
    );
    assert.match(skipped[0]!.message, new RegExp(`${turnId} of the session ${sessionId}`));

    // The log of the original names the fork, in the entries of the turn.
    const own = (await logOf(caller, sessionId)).filter((event) => event.turnId === turnId);
    assert.deepEqual(updatesOf(own, "turn_continued"), [
      { sessionUpdate: "turn_continued", sessionId: fork.sessionId, kind: "claude_code" },
    ]);
    // The log of the fork names the original and the reason.
    assert.equal(updatesOf(log, "session_forked")[0]!.fromSessionId, sessionId);
    assert.deepEqual(updatesOf(log, "fallback_taken")[0]!.skipped, skipped);
    const [prompt, ...others] = updatesOf(log, "user_message_chunk");
    assert.match(prompt!.content.text, /used up its quota.*Continue the task/);
    assert.deepEqual([others, outcomeOf(log)], [[], "completed"]);

    // The agent that continues has read the conversation, and has the files.
    const asked = world.model!.requests.filter((each) => each.prompt.includes("used up its quota"));
    assert.ok(asked.some(({ body }) => JSON.stringify(body).includes(words)));
    assert.deepEqual(treeOf(worktreeOf(host, fork.worktreeBranch!)), before);
    assert.deepEqual(treeOf(place), before, "the original is untouched");

    // Both calls were made with the key that sent the prompt.
    const { entries } = await caller.list_audit_entries({ limit: 50 });
    const ofFork = entries.filter(({ records }) => records["sessionId"] === fork.sessionId);
    const { apiKeyId } = await caller.whoami({});
    assert.deepEqual(
      ofFork.map(({ action, apiKeyId: key }) => [action, key]),
      [
        ["send_prompt", apiKeyId],
        ["fork_session", apiKeyId],
      ],
    );
    for (const each of [fork.sessionId, sessionId]) await caller.end_session({ sessionId: each });
  },
);

scenario("Without the setting, the turn has failed and that is all", [], async (context) => {
  const { world, caller } = context;
  const host = world.hosts[0]!;
  await setUp(caller, host, "codex", "claude_code");
  await caller.update_settings({ fallbackMidTurn: false });
  const { sessionId } = await useUp(caller, host, "Count the cranes.");
  // A turn to continue is recorded in the transaction that stores its end.
  assert.deepEqual(await rowsOf(world, sessionId), []);
  assert.equal((await summaryOf(caller, sessionId)).continuation, null);
  assert.deepEqual(await forksOf(caller, sessionId), []);
  await caller.end_session({ sessionId });
});

scenario("If no kind of the chain is left, the record says why", [], async ({ world, caller }) => {
  const host = world.hosts[0]!;
  await setUp(caller, host, "codex");
  const { sessionId, turnId } = await useUp(caller, host, "Count the storks.");
  const { continuation } = await untilContinued(caller, sessionId);
  assert.deepEqual([continuation!.turnId, continuation!.sessionId], [turnId, null]);
  assert.match(continuation!.problem!, /No kind of the fallback chain is left/);
  assert.deepEqual(await forksOf(caller, sessionId), []);
  await caller.end_session({ sessionId });
});

scenario("The run of a schedule follows the fork", [], async ({ world, caller }) => {
  const host = world.hosts[0]!;
  await setUp(caller, host, "codex", "claude_code");
  const prompt = scripted("Count the swans.", usedUp);
  const { scheduleId } = await schedule(caller, host, { prompt, frequency: "never" });
  const { run, session } = await untilSucceeded(caller, scheduleId);
  assert.deepEqual([session.agentKind, run.sessionId], ["claude_code", session.sessionId]);
  assert.deepEqual(session.startedBy.id, scheduleId);
  const original = await summaryOf(caller, session.forkedFrom!);
  assert.equal(original.continuation?.sessionId, session.sessionId);
  assert.equal((await scheduleOf(caller, scheduleId)).lastRun?.outcome, "succeeded");
  await caller.delete_scheduled_prompt({ scheduleId });
});

/**
 * Lets the quota of a session run out. Returns when a node other than the first has asked for the fork: the first
 * node serves the callers and the host.
 */
async function useUpOnOtherNode(world: World, caller: Caller, host: TestHost) {
  for (let attempt = 0; attempt < 15; attempt++) {
    const { session, sessionId } = await useUp(caller, host, "Count the geese.");
    const [row] = await until(
      "a node asks for the fork",
      30_000,
      () => rowsOf(world, sessionId),
      ([held]) => held?.asked === "claude_code",
    );
    const node = world.nodes.findIndex(({ log }) =>
      log.some(({ msg, nodeId }) => msg === "node ready" && nodeId === row!.holder),
    );
    if (node > 0) return { session, sessionId, node: world.nodes[node]! };
    await untilContinued(caller, sessionId);
    const { fork } = await untilForkEnded(caller, session);
    for (const each of [fork.sessionId, sessionId]) await caller.end_session({ sessionId: each });
  }
  return assert.fail("another node than the first continues a turn");
}

scenario(
  "A node is killed between the fork and its prompt: one fork, one prompt",
  [],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    await setUp(caller, host, "codex", "claude_code");
    const { session, sessionId, node } = await useUpOnOtherNode(world, caller, host);
    // While the row is locked, the node cannot record the fork, and sends no prompt.
    const lock = `SELECT FROM turn_continuations WHERE session_id = '${parseId("session", sessionId)}' FOR UPDATE`;
    const held = await holdRow(world.database.url, lock);
    try {
      const [fork] = await until(
        "the host has made the fork",
        60_000,
        () => forksOf(caller, sessionId),
        ([made]) => made !== undefined && made.directory !== null,
      );
      assert.equal((await summaryOf(caller, sessionId)).continuation, null);
      assert.deepEqual(updatesOf(await logOf(caller, fork!.sessionId), "user_message_chunk"), []);
      node.process.kill("SIGKILL");
    } finally {
      await held[Symbol.asyncDispose]();
    }
    await untilContinued(caller, sessionId);
    const { fork, log } = await untilForkEnded(caller, session);
    assert.equal(updatesOf(log, "user_message_chunk").length, 1);
    assert.equal(outcomeOf(log), "completed");
    assert.deepEqual(
      (await forksOf(caller, sessionId)).map((each) => each.sessionId),
      [fork.sessionId],
    );
  },
);
