// What a list of sessions shows a person, with a real agent. The actions are extensions of the interface, so no
// requirement is cited.
import assert from "node:assert/strict";
import type { Caller } from "@hawser/testkit/caller.ts";
import { newMember } from "../new-member.ts";
import { scenario, useWorld } from "../scenario.ts";
import { bash, scripted, startSession, untilAsked, untilEnd } from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

const overviewIn = async (
  as: Caller,
  group: "waiting" | "running" | "idle" | "ended",
  sessionId: string,
) => {
  const { sessions } = await as.search_sessions({ group, withCounts: true });
  return sessions.find((session) => session.sessionId === sessionId);
};

scenario(
  "A person sees which session waits, answers, and marks what they have read",
  [],
  async (context) => {
    const { world, caller } = context;
    const { as } = await newMember(context, "member");
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const text = scripted("go", bash("true"), { text: "done" });
    const { turnId, messageId } = await as.send_prompt({ sessionId, text });
    const { requestId } = await untilAsked(caller, sessionId);
    const waiting = await overviewIn(as, "waiting", sessionId);
    assert.equal(waiting?.activity, "waiting");
    assert.equal(waiting.openRequestCount, 1);
    assert.equal(waiting.oldestRequest?.requestId, requestId);
    assert.equal((await as.get_request({ requestId })).permission?.detail, "true");

    await as.answer_permission({ requestId, answer: "once" });
    await untilEnd(caller, sessionId, turnId);
    const idle = await overviewIn(as, "idle", sessionId);
    assert.equal(idle?.lastOutcome, "completed");
    assert.deepEqual([idle.openRequestCount, idle.readSeq], [0, 0]);
    assert.ok(idle.lastOutcomeSeq! > 0 && idle.lastOutcomeSeq! <= idle.lastSeq);
    const { turns } = await as.list_session_turns({ sessionId });
    assert.equal(turns.length, 1);
    const [turn] = turns;
    assert.deepEqual(
      [turn!.turnId, turn!.messageId, turn!.prompt, turn!.outcome, turn!.lastSeq],
      [turnId, messageId, text.slice(0, 200), "completed", idle.lastOutcomeSeq],
    );
    assert.equal(turn!.startedAt, idle.turnStartedAt);

    const { readSeq } = await as.mark_session_read({ sessionId, seq: idle.lastSeq });
    assert.equal(readSeq, idle.lastSeq);
    assert.equal((await overviewIn(as, "idle", sessionId))?.readSeq, readSeq);
    await caller.end_session({ sessionId });
    assert.equal((await overviewIn(as, "ended", sessionId))?.sessionId, sessionId);
  },
);
