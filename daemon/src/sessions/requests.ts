// What agents ask and wait for: raised, granted by a remembered rule, settled or withdrawn. `always`
// remembers the exact rules that were shown, for this session; what they cover later is allowed once
// each time, without asking unless that does not reach the agent. Answers are given in answers.ts.
import { createHash } from "node:crypto";
import type { AgentEvent, AgentSession, Asked } from "../drivers/driver.ts";
import type { GivenAnswer, KeptRequest } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { note, runningTurn, type Core } from "./core.ts";
import { makeRequestId } from "./ids.ts";
import { untilWritten } from "./until-written.ts";

type Raised = Extract<AgentEvent, { type: "request" }>;
type Gone = Extract<AgentEvent, { type: "request_gone" }>;

export const agentMovedOn = "The agent no longer waits for it.";

/** Within the commit of its event. */
export function raiseRequest(
  core: Core,
  sessionId: string,
  turnId: string | null,
  { key, asked, toolCallId }: Raised,
): (() => void)[] {
  const { driven } = core.journal;
  // An agent that is taken up again may tell what it waits for once more.
  if (driven.requestByKey(sessionId, key)) return [];
  const requestId = makeRequestId(core.now());
  const shownHash = hashOf(asked);
  const request: KeptRequest = {
    requestId,
    sessionId,
    key,
    asked,
    shownHash,
    state: "open",
    given: null,
  };
  const rules = "permission" in asked ? asked.permission.alwaysRules : [];
  if (driven.isRemembered(sessionId, rules)) {
    driven.addRequest({ ...request, state: "granted" });
    return [() => grant(core, sessionId)];
  }
  driven.addRequest(request);
  noteRaised(core, request, turnId, toolCallId);
  return [];
}

function noteRaised(
  core: Core,
  { requestId, sessionId, asked, shownHash }: KeptRequest,
  turnId: string | null,
  toolCallId: string | null,
): void {
  note(
    core,
    sessionId,
    {
      sessionUpdate: "request_raised",
      requestId,
      type: "permission" in asked ? "permission" : "question",
      permission: "permission" in asked ? asked.permission : null,
      questions: "questions" in asked ? asked.questions : null,
      shownHash,
      toolCallId,
    },
    turnId,
  );
}

function hashOf(asked: Asked): string {
  return createHash("sha256").update(JSON.stringify(asked)).digest("hex");
}

/** Allows what remembered rules cover. What a crash cut is done again when the agent is back. */
export function grant(core: Core, sessionId: string): void {
  const { driven } = core.journal;
  // After the driver has told the event: it may not expect an answer within.
  setImmediate(() => {
    const { agent } = core.live(sessionId);
    if (!agent || core.closed.aborted) return;
    for (const { requestId, key, state } of driven.openRequests(sessionId)) {
      if (state !== "granted") continue;
      void allow(core, agent, sessionId, requestId, key);
    }
  });
}

async function allow(
  core: Core,
  agent: AgentSession,
  sessionId: string,
  requestId: string,
  key: string,
): Promise<void> {
  const about = { sessionId, requestId };
  let taken: "accepted" | "gone" | "unknown";
  try {
    taken = await agent.answer(key, { permission: "once" }, AbortSignal.timeout(10_000));
  } catch (error) {
    core.log.warn("a remembered permission was not taken", { ...about, error: describe(error) });
    taken = "unknown";
  }
  await untilWritten(core, "how a permission went was not recorded", about, () =>
    core.journal.atOnce(() => {
      const request = core.journal.driven.request(requestId);
      if (!request) return;
      const turnId = runningTurn(core, sessionId)?.turnId ?? null;
      const once = { answer: "once" as const, answers: null };
      if (taken === "accepted") settle(core, request, turnId, once, null);
      else if (taken === "gone") withdraw(core, request, turnId, agentMovedOn);
      // The agent may still wait, and nobody tries again; somebody who is asked can.
      else if (request.state === "granted") openGranted(core, request, turnId);
    }),
  );
}

/** Within a commit. */
function openGranted(core: Core, request: KeptRequest, turnId: string | null): void {
  core.journal.driven.openRequest(request.requestId);
  // Which of the agent's calls it is for was not kept.
  noteRaised(core, request, turnId, null);
}

/** The agent does not wait for it any more. Within the commit of its event. */
export function settleByAgent(
  core: Core,
  sessionId: string,
  turnId: string | null,
  { key, answer, reason }: Gone,
): void {
  const request = core.journal.driven.requestByKey(sessionId, key);
  if (!request) return;
  // Ours, when it was on its way and nobody knew whether the agent took it.
  const { given } = request;
  if (given && (answer === null || isSame(given, answer))) {
    return settle(core, request, turnId, given, null);
  }
  if (answer !== null) {
    return settle(core, request, turnId, { answer, answers: null }, reason);
  }
  withdraw(core, request, turnId, reason);
}

/** Otherwise ours never arrived, and somebody else's was taken. */
const isSame = ({ toAgent }: GivenAnswer, taken: string): boolean =>
  "permission" in toAgent && toAgent.permission === taken;

/** A turn that came to its end has got the answers that were on their way. Within a commit. */
export function settleGiven(core: Core, sessionId: string, turnId: string): void {
  for (const request of core.journal.driven.openRequests(sessionId)) {
    if (request.given) settle(core, request, turnId, request.given, null);
  }
}

/** Within a commit. */
export function withdrawRequests(core: Core, sessionId: string, reason: string): void {
  const turnId = runningTurn(core, sessionId)?.turnId ?? null;
  for (const request of core.journal.driven.openRequests(sessionId)) {
    withdraw(core, request, turnId, reason);
  }
}

/** Within a commit. */
export function withdraw(
  core: Core,
  request: KeptRequest,
  turnId: string | null,
  reason: string | null,
): void {
  const { requestId, sessionId } = request;
  core.journal.driven.removeRequest(requestId);
  // Nobody was asked.
  if (request.state === "granted") return;
  note(
    core,
    sessionId,
    {
      sessionUpdate: "request_settled",
      requestId,
      outcome: "withdrawn",
      answer: null,
      answers: null,
      reason,
    },
    turnId,
  );
}

/** Within a commit. */
export function settle(
  core: Core,
  { requestId, sessionId, state, asked }: KeptRequest,
  turnId: string | null,
  { answer, answers }: Pick<GivenAnswer, "answer" | "answers">,
  reason: string | null,
): void {
  core.journal.driven.removeRequest(requestId);
  if (state === "granted") return;
  if (answer === "always" && "permission" in asked) {
    core.journal.driven.remember(sessionId, asked.permission.alwaysRules);
  }
  note(
    core,
    sessionId,
    { sessionUpdate: "request_settled", requestId, outcome: "answered", answer, answers, reason },
    turnId,
  );
}
