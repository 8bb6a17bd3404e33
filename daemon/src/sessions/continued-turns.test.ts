// A turn that a used-up quota ended, and the fork that continues it: what the logs of both sessions show.
import assert from "node:assert/strict";
import { test } from "node:test";
import { logIn, openSmall, setPolicy } from "@hawser/testkit/scripted-accounts.ts";
import {
  codeOf,
  makeSmallHost,
  script,
  wanted,
  wantedFork,
  type OpenHost,
  type SmallHost,
} from "@hawser/testkit/small-host.ts";

const ada = "usr_ada.1000";

/** A session of claude_code whose turn has failed. Ada has a codex account too. */
async function useUp(small: SmallHost, failure: { status: number; errorType?: string }) {
  setPolicy(small, "shared-logins = yes");
  const { host } = openSmall(small);
  for (const kind of ["claude_code", "codex"] as const) await logIn(host, ada, kind);
  const asked = { ...wanted(small.repository), kind: "claude_code" as const, ownerId: ada };
  await host.must("start_session", asked);
  const { sessionId } = asked;
  const text = script([failure]);
  const { turnId } = await host.must("send_prompt", { sessionId, text, ownerId: ada });
  const finished = await host.until(sessionId, "turn_finished");
  return { host, sessionId, turnId, finished };
}

const used = { status: 429, errorType: "insufficient_quota" };

const fallback = {
  preferredKind: "claude_code" as const,
  skipped: [
    { kind: "claude_code" as const, reason: "quota", message: "Used up.", utilization: null },
  ],
  droppedOptions: [],
};

const forkTo = (originalId: string, continues?: object) => ({
  ...wantedFork(originalId),
  kind: "codex" as const,
  ownerId: ada,
  ...(continues && { continues: { turnId: "", fallback, ...continues } }),
});

const continuedIn = (host: OpenHost, sessionId: string) =>
  host.entries(sessionId).filter(({ update }) => update.sessionUpdate === "turn_continued");

test("the end of a turn says that a quota was used up, and no other failure does", async () => {
  using small = makeSmallHost();
  const { host, finished } = await useUp(small, used);
  assert.deepEqual([finished.outcome, finished.cause], ["failed", "quota"]);
  await host.close();
  using another = makeSmallHost();
  const other = await useUp(another, { status: 401 });
  assert.deepEqual([other.finished.outcome, other.finished.cause], ["failed", undefined]);
  await other.host.close();
});

test("the original's log names the fork, and the fork's log says why it has another kind", async () => {
  using small = makeSmallHost();
  const { host, sessionId, turnId } = await useUp(small, used);
  const fork = forkTo(sessionId, { turnId, modelId: "script-2" });
  const started = await host.must("fork_session", fork);
  assert.deepEqual(started.taken, { kind: "codex", fallback });
  assert.equal(started.model?.modelId, "script-2");
  assert.deepEqual(
    continuedIn(host, sessionId).map((entry) => [entry.turnId, entry.update]),
    [[turnId, { sessionUpdate: "turn_continued", sessionId: fork.sessionId, kind: "codex" }]],
  );
  const taken = await host.until(fork.sessionId, "fallback_taken");
  assert.deepEqual([taken.kind, taken.skipped], ["codex", fallback.skipped]);
  const forked = await host.until(fork.sessionId, "session_forked");
  assert.equal(forked.fromSessionId, sessionId);
  await host.close();
});

test("a fork that is refused, and one that a caller asked for, leave the original's log as it is", async () => {
  using small = makeSmallHost();
  const { host, sessionId, turnId } = await useUp(small, used);
  const unknown = forkTo(sessionId, { turnId, modelId: "no-such-model" });
  assert.equal(codeOf(await host.ask("fork_session", unknown)), "invalid_input");
  await host.must("fork_session", forkTo(sessionId));
  assert.deepEqual(continuedIn(host, sessionId), []);
  await host.close();
});
