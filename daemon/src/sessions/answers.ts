// Answering what an agent waits for. An answer is bound to what was shown by its hash, of several one
// wins, and it is told as given only when the agent has taken it.
import type { PermissionAnswer } from "@hawser/contract";
import { objectToAnswers } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import type { GivenAnswer, KeptRequest } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { attach } from "./attach.ts";
import { runningTurn, type Core } from "./core.ts";
import { agentMovedOn, settle, withdraw } from "./requests.ts";

export interface Answering {
  sessionId: string;
  requestId: string;
  shownHash: string;
  answer: PermissionAnswer | null;
  answers: string[][] | null;
}

export interface Answered {
  status: "answered" | "already_resolved" | "undeliverable";
}

/** What it gives writes the answer down when called, together with the command's outcome. */
export async function answerRequest(
  core: Core,
  wanted: Answering,
  signal: AbortSignal,
): Promise<Answered | (() => Answered)> {
  const { sessionId, requestId } = wanted;
  const { driven } = core.journal;
  const session = driven.get(sessionId);
  if (!session || session.state === "ending") return { status: "undeliverable" };
  const { answering } = core.live(sessionId);
  // Of several answers one wins; the others hear how it went first.
  while (answering.has(requestId)) await answering.get(requestId);
  const request = driven.request(requestId);
  if (request?.sessionId !== sessionId || request.state === "granted") {
    return { status: "already_resolved" };
  }
  const given = checkAnswer(request, wanted);
  const done = Promise.withResolvers<void>();
  answering.set(requestId, done.promise);
  const leave = () => {
    answering.delete(requestId);
    done.resolve();
  };
  try {
    // So that it is known what the agent took, if the daemon dies before it can say so.
    driven.noteGiven(requestId, given);
    const agent = await attach(core, sessionId);
    const taken = await agent.answer(request.key, given.toAgent, signal);
    return () => {
      // The agent may have said itself that it has it.
      const still = driven.request(requestId);
      leave();
      if (!still) return { status: taken === "accepted" ? "answered" : "already_resolved" };
      const turnId = runningTurn(core, sessionId)?.turnId ?? null;
      if (taken === "accepted") settle(core, still, turnId, given, null);
      else withdraw(core, still, turnId, agentMovedOn);
      return { status: taken === "accepted" ? "answered" : "already_resolved" };
    };
  } catch (error) {
    leave();
    core.log.warn("an answer was not taken", { sessionId, requestId, error: describe(error) });
    return { status: "undeliverable" };
  }
}

function checkAnswer(
  { asked, shownHash }: KeptRequest,
  { shownHash: seen, answer, answers }: Answering,
): GivenAnswer {
  if (seen !== shownHash) {
    const message =
      "What the agent asks is not what was shown. Look at the request again, then answer it.";
    throw new CommandRefusal("request_changed", message);
  }
  if ("permission" in asked) {
    if (answer === null) {
      throw new CommandRefusal(
        "invalid_input",
        "A permission takes once, always or reject.",
        "answer",
      );
    }
    const permission = answer === "reject" ? "reject" : "once";
    return { answer, answers: null, toAgent: { permission } };
  }
  if (answer === "reject") return { answer, answers: null, toAgent: { dismiss: true } };
  if (answers === null) {
    const message = "A question takes answers, or reject to dismiss it.";
    throw new CommandRefusal("invalid_input", message, "answers");
  }
  const objection = objectToAnswers(asked.questions, answers);
  if (objection !== undefined) throw new CommandRefusal("invalid_input", objection, "answers");
  return { answer: null, answers, toAgent: { answers } };
}
