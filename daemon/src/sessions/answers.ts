// Callers' answers to what an agent waits for. An answer is bound to what was shown by its hash, one of
// several wins, and it counts as answered only once the agent has accepted it.
import type { PermissionAnswer } from "@hawser/contract";
import { objectToAnswers } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import type { GivenAnswer, KeptRequest } from "../journal/driven-sessions.ts";
import { attach } from "./attach.ts";
import { agentMovedOn, settle, withdraw } from "./requests.ts";
import { userIn, type Session } from "./session.ts";

export interface Answering {
  sessionId: string;
  requestId: string;
  shownHash: string;
  answer: PermissionAnswer | null;
  answers: string[][] | null;
  /** Who answers, if a person does. */
  ownerId?: string | null | undefined;
}

export interface Answered {
  status: "answered" | "already_resolved" | "undeliverable";
}

/** Throws refusals. A returned function records the answer, in the commit of the command's outcome. */
export async function answerRequest(
  session: Session,
  wanted: Answering,
  signal: AbortSignal,
): Promise<Answered | (() => Answered)> {
  const { requestId } = wanted;
  // Everybody may say no. A yes, or the answer to a question, is work for the agent.
  if (wanted.answer !== "reject") session.requireOwner(wanted.ownerId);
  const { driven } = session.host.journal;
  if (!session.allows("answer")) return { status: "undeliverable" };
  const { answering } = session;
  // One answer at a time; the others wait for its outcome.
  while (answering.has(requestId)) await answering.get(requestId);
  const request = driven.request(requestId);
  if (request?.sessionId !== session.id || request.state === "granted") {
    return { status: "already_resolved" };
  }
  const by = wanted.ownerId ? { by: userIn(wanted.ownerId) } : {};
  const given = { ...checkAnswer(request, wanted), ...by };
  const done = Promise.withResolvers<void>();
  answering.set(requestId, done.promise);
  const leave = () => {
    answering.delete(requestId);
    done.resolve();
  };
  try {
    // If the daemon dies now, the next one knows which answer the agent may have accepted.
    driven.noteGiven(requestId, given);
    const agent = await attach(session);
    const reply = await agent.answer(request.key, given.toAgent, signal);
    return () => {
      leave();
      const still = driven.request(requestId);
      // Already gone if the agent's own event was faster.
      if (still && reply === "accepted") settle(session, still, session.turnId, given, null);
      else if (still) withdraw(session, still, session.turnId, agentMovedOn);
      return { status: reply === "accepted" ? "answered" : "already_resolved" };
    };
  } catch (error) {
    leave();
    session.warn("an answer did not reach the agent", error, { requestId });
    return { status: "undeliverable" };
  }
}

function checkAnswer(
  { asked, shownHash }: KeptRequest,
  { shownHash: seen, answer, answers }: Answering,
): GivenAnswer {
  if (seen !== shownHash) {
    const message =
      "The agent's request is not the one that was shown. Read the request again, then answer it.";
    throw new CommandRefusal("request_changed", message);
  }
  if ("permission" in asked) {
    if (answer === null) {
      const message = "Answer a permission with once, always or reject.";
      throw new CommandRefusal("invalid_input", message, "answer");
    }
    const permission = answer === "reject" ? "reject" : "once";
    return { answer, answers: null, toAgent: { permission } };
  }
  if (answer === "reject") return { answer, answers: null, toAgent: { dismiss: true } };
  if (answers === null) {
    const message = "Answer a question with answers, or with reject to dismiss it.";
    throw new CommandRefusal("invalid_input", message, "answers");
  }
  const objection = objectToAnswers(asked.questions, answers);
  if (objection !== undefined) throw new CommandRefusal("invalid_input", objection, "answers");
  return { answer: null, answers, toAgent: { answers } };
}
