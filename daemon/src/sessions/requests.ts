// What agents ask and wait for: raised, answered by a remembered rule, settled or withdrawn. `always`
// remembers the exact rules that were shown, for this session. What they cover later is allowed once
// each time, and a person is asked only if that answer does not reach the agent. Callers' answers are
// in answers.ts.
import { createHash } from "node:crypto";
import type { AgentEvent, AgentSession } from "../drivers/driver.ts";
import type { GivenAnswer, KeptRequest } from "../journal/driven-sessions.ts";
import { makeRequestId } from "./ids.ts";
import { modeOf } from "./modes.ts";
import type { Session } from "./session.ts";
import { untilWritten } from "./until-written.ts";

type Raised = Extract<AgentEvent, { type: "request" }>;
type Gone = Extract<AgentEvent, { type: "request_gone" }>;

export const agentMovedOn = "The agent no longer waits for it.";
const answerMs = 10_000;

/** Within the commit of the event. */
export function raiseRequest(
  session: Session,
  turnId: string | null,
  { key, asked, toolCallId, rule }: Raised,
): void {
  const { driven } = session.host.journal;
  // An agent that is resumed may repeat what it waits for.
  if (driven.requestByKey(session.id, key)) return;
  const request: KeptRequest = {
    requestId: makeRequestId(session.host.now(), session.id),
    sessionId: session.id,
    key,
    asked,
    shownHash: createHash("sha256").update(JSON.stringify(asked)).digest("hex"),
    state: "open",
    given: null,
  };
  const rules = "permission" in asked ? asked.permission.alwaysRules : [];
  if (driven.isRemembered(session.id, rules)) {
    driven.addRequest({ ...request, state: "granted" });
    driven.countUse(session.id, rules);
    session.note(
      {
        sessionUpdate: "call_decided",
        toolCallId,
        answer: "allow",
        rule: `a person answered always: ${rules.join(", ")}`,
        mode: modeOf(session),
      },
      turnId,
    );
    session.afterwards(() => answerByRule(session));
    return;
  }
  driven.addRequest(request);
  noteRaised(session, request, turnId, toolCallId, rule);
}

function noteRaised(
  session: Session,
  { requestId, asked, shownHash }: KeptRequest,
  turnId: string | null,
  toolCallId: string | null,
  rule?: string,
): void {
  const permission = "permission" in asked ? asked.permission : null;
  const questions = "questions" in asked ? asked.questions : null;
  const type = permission ? "permission" : "question";
  session.note(
    {
      sessionUpdate: "request_raised",
      requestId,
      type,
      permission,
      questions,
      shownHash,
      toolCallId,
      ...(rule !== undefined && { rule }),
    },
    turnId,
  );
}

/** Allows what remembered rules cover, also what a crash left unanswered. */
export function answerByRule(session: Session): void {
  const { journal, closed } = session.host;
  // After the driver's call: a driver may not expect an answer while it reports the request.
  setImmediate(() => {
    const { agent } = session;
    if (!agent || closed.aborted) return;
    for (const { requestId, key, state } of journal.driven.openRequests(session.id)) {
      if (state === "granted") void allow(session, agent, requestId, key);
    }
  });
}

async function allow(
  session: Session,
  agent: AgentSession,
  requestId: string,
  key: string,
): Promise<void> {
  let reply: "accepted" | "gone" | "unknown";
  try {
    reply = await agent.answer(key, { permission: "once" }, AbortSignal.timeout(answerMs));
  } catch (error) {
    session.warn("a remembered permission did not reach the agent", error, { requestId });
    reply = "unknown";
  }
  const { driven } = session.host.journal;
  await untilWritten(session, "a permission's outcome was not recorded", { requestId }, () =>
    session.commit(() => {
      const request = driven.request(requestId);
      if (!request) return;
      const { turnId } = session;
      if (reply === "accepted") {
        settle(session, request, turnId, { answer: "once", answers: null }, null);
      } else if (reply === "gone") {
        withdraw(session, request, turnId, agentMovedOn);
      } else if (request.state === "granted") {
        // The agent may still wait, so a person is asked. Its tool call was not kept.
        driven.openRequest(requestId);
        noteRaised(session, request, turnId, null);
      }
    }),
  );
}

/** The agent does not wait for it any more. Within the commit of the event. */
export function settleByAgent(
  session: Session,
  turnId: string | null,
  { key, answer, reason }: Gone,
): void {
  const request = session.host.journal.driven.requestByKey(session.id, key);
  if (!request) return;
  const { given } = request;
  // A caller's answer was on its way, and this shows that the agent has accepted it.
  if (given && (answer === null || isSame(given, answer))) {
    return settle(session, request, turnId, given, null);
  }
  if (answer === null) return withdraw(session, request, turnId, reason);
  settle(session, request, turnId, { answer, answers: null }, reason);
}

/** If not, the caller's answer never arrived and the agent accepted somebody else's. */
const isSame = ({ toAgent }: GivenAnswer, accepted: string): boolean =>
  "permission" in toAgent && toAgent.permission === accepted;

/** A turn that completed has received the answers that were on their way. Within a commit. */
export function settleGiven(session: Session, turnId: string): void {
  for (const request of session.host.journal.driven.openRequests(session.id)) {
    if (request.given) settle(session, request, turnId, request.given, null);
  }
}

/** Within a commit. */
export function withdrawRequests(session: Session, reason: string): void {
  const { turnId } = session;
  for (const request of session.host.journal.driven.openRequests(session.id)) {
    withdraw(session, request, turnId, reason);
  }
}

/** Within a commit. */
export function withdraw(
  session: Session,
  { requestId, state }: KeptRequest,
  turnId: string | null,
  reason: string | null,
): void {
  session.host.journal.driven.removeRequest(requestId);
  // Nobody was asked.
  if (state === "granted") return;
  const outcome = { outcome: "withdrawn", answer: null, answers: null } as const;
  session.note({ sessionUpdate: "request_settled", requestId, ...outcome, reason }, turnId);
}

/** Within a commit. */
export function settle(
  session: Session,
  { requestId, state, asked }: KeptRequest,
  turnId: string | null,
  { answer, answers, by }: Omit<GivenAnswer, "toAgent">,
  reason: string | null,
): void {
  const { driven } = session.host.journal;
  driven.removeRequest(requestId);
  // Nobody was asked.
  if (state === "granted") return;
  if (answer === "always" && "permission" in asked) {
    const origin = { by: by ?? null, at: session.host.now() };
    driven.remember(session.id, asked.permission.alwaysRules, origin);
  }
  const outcome = { outcome: "answered", answer, answers } as const;
  session.note({ sessionUpdate: "request_settled", requestId, ...outcome, reason }, turnId);
}
