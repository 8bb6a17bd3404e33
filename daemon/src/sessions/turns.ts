// Turns: prompts wait in the journal and are delivered to the agent one after the other. A prompt is
// recorded as sent before the agent gets it, so it is never delivered twice; if a crash cuts a turn, it
// ends as interrupted.
import type { UpdateOf } from "@hawser/contract";
import { AgentNotReady, type AgentSession } from "../drivers/driver.ts";
import type { KeptPrompt } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { pause, within } from "../pause.ts";
import { attach, release } from "./attach.ts";
import { noteDelivered, undeliveredConversation } from "./conversations.ts";
import { takeSnapshot } from "./files.ts";
import { heldForMs } from "./holds.ts";
import { checkProjectConfig } from "./project-config.ts";
import { shownText, taskOf } from "./prompts.ts";
import { withdrawRequests } from "./requests.ts";
import type { Session, TurnWork } from "./session.ts";
import { endShells } from "./shells.ts";
import { finishTurn } from "./turn-end.ts";
import { untilWritten } from "./until-written.ts";

const deliverMs = 30_000;
const deliverAgainMs = 5_000;
const stopMs = 8_000;
/** For taking back a prompt that may or may not have arrived. */
const recallMs = 2_000;

/** Delivers the prompts that wait, one after the other. */
export function deliver(session: Session): void {
  const { delivery } = session;
  delivery.isWoken = true;
  delivery.running ??= deliverAll(session).finally(() => {
    delivery.running = undefined;
    // Woken after the loop had checked for the last time.
    if (delivery.isWoken && !session.host.closed.aborted) deliver(session);
  });
}

async function deliverAll(session: Session): Promise<void> {
  const { closed } = session.host;
  while (session.delivery.isWoken && !closed.aborted) {
    session.delivery.isWoken = false;
    try {
      await deliverNext(session);
    } catch (error) {
      if (closed.aborted) return;
      session.warn("a prompt was not delivered", error);
      // The prompt still waits, and nobody else wakes this loop: a disk may be full for a while.
      await pause(deliverAgainMs, closed);
      session.delivery.isWoken = true;
    }
  }
}

async function deliverNext(session: Session): Promise<void> {
  const { closed } = session.host;
  await untilReverted(session);
  if (!nextPrompt(session)) return wakeWhenReleased(session);
  let agent: AgentSession;
  try {
    await checkProjectConfig(session);
    agent = await attach(session);
  } catch (error) {
    if (closed.aborted) return;
    session.commit(() => dropQueue(session, describe(error)));
    return;
  }
  if (closed.aborted) return;
  if (session.agent !== agent) {
    session.delivery.isWoken = true;
    return;
  }
  const prompt = session.commit(() => markSent(session));
  if (prompt) await deliverPrompt(session, agent, prompt);
}

async function untilReverted(session: Session): Promise<void> {
  while (session.work.type === "revert") await session.work.done;
}

/** undefined while somebody edits it. */
function nextPrompt(session: Session): KeptPrompt | undefined {
  const [first] = session.prompts;
  if (!session.isUsable || first?.state !== "queued") return undefined;
  return heldForMs(first, session.host.now()) === 0 ? first : undefined;
}

function wakeWhenReleased(session: Session): void {
  const { delivery, host } = session;
  const [first] = session.prompts;
  clearTimeout(delivery.heldTimer);
  const heldMs = first?.state === "queued" ? heldForMs(first, host.now()) : 0;
  if (heldMs > 0) delivery.heldTimer = setTimeout(() => session.wake(), heldMs).unref();
}

type SentPrompt = KeptPrompt & {
  context: readonly string[];
  /** The earlier conversation, if the agent of a fork has not received it yet. */
  conversation: string | undefined;
};

/** Within a commit. Returns undefined if no prompt waits. */
function markSent(session: Session): SentPrompt | undefined {
  const { driven, messages } = session.host.journal;
  const prompt = nextPrompt(session);
  if (!prompt) return undefined;
  const { turnId, messageId, model, agent } = prompt;
  driven.markSent(turnId);
  messages.add(session.id, messageId);
  session.note({ sessionUpdate: "turn_started", messageId, model, agent }, turnId);
  const text = shownText(prompt);
  if (text !== undefined) {
    const content = { type: "text" as const, text };
    session.note(
      { sessionUpdate: "user_message_chunk", messageId, content, ...originOf(prompt) },
      turnId,
    );
  }
  if (taskOf(prompt).type !== "prompt") return { ...prompt, context: [], conversation: undefined };
  const { untold = [] } = session.record!;
  if (untold.length > 0) session.change({ untold: [] });
  return { ...prompt, context: untold, conversation: undeliveredConversation(session) };
}

/** Who sent a prompt with which files, as its entry shows them. */
function originOf({
  by,
  attachments = [],
}: KeptPrompt): Pick<UpdateOf<"user_message_chunk">, "by" | "attachments"> {
  const sender = { by: by ?? null };
  if (attachments.length === 0) return sender;
  return {
    ...sender,
    attachments: attachments.map(({ fileId = null, filename, mime, size = null }) => ({
      fileId,
      filename,
      mime,
      size,
    })),
  };
}

async function deliverPrompt(
  session: Session,
  agent: AgentSession,
  prompt: SentPrompt,
): Promise<void> {
  const { host } = session;
  const { turnId, messageId, text, conversation, attachments = [] } = prompt;
  const context = conversation === undefined ? prompt.context : [conversation, ...prompt.context];
  const { model, options, agent: mode } = prompt;
  const controller = new AbortController();
  const done = Promise.withResolvers<void>();
  const turn = turnWork(session, turnId);
  turn.delivery = { controller, done: done.promise };
  // The agent may be lost meanwhile, and the turn with it.
  const isOver = () => host.closed.aborted || session.turnId !== turnId;
  try {
    const signal = AbortSignal.any([controller.signal, AbortSignal.timeout(deliverMs)]);
    const snapshot = await orAborted(takeSnapshot(session), signal);
    if (isOver()) return;
    if (session.agent !== agent) {
      throw new AgentNotReady("The agent was lost before it got the prompt.");
    }
    if (snapshot) host.journal.messages.setSnapshot(messageId, snapshot);
    const message = { turnId, messageId, task: taskOf(prompt), text, context, attachments };
    await orAborted(agent.prompt({ ...message, model, options, agent: mode }, signal), signal);
    if (conversation !== undefined) noteDelivered(session, messageId);
  } catch (error) {
    if (isOver()) return;
    // The prompt may have arrived all the same.
    await within(
      recallMs,
      agent.abort(AbortSignal.timeout(recallMs)).catch(() => {}),
    );
    if (controller.signal.aborted) return await endTurn(session, turnId, "aborted", null);
    // If the agent was lost, nobody knows how far it got.
    const outcome = error instanceof AgentNotReady ? "interrupted" : "failed";
    await endTurn(session, turnId, outcome, describe(error));
  } finally {
    turn.delivery = undefined;
    done.resolve();
  }
}

/** The work on this turn, created if an earlier daemon delivered its prompt. */
function turnWork(session: Session, turnId: string): TurnWork {
  if (session.work.type === "turn" && session.work.turn.turnId === turnId) return session.work.turn;
  const ended = Promise.withResolvers<void>();
  const turn: TurnWork = { turnId, delivery: undefined, isStopped: false, ended };
  session.work = { type: "turn", turn };
  return turn;
}

/** Records the end of a turn that the agent will not report. Repeated until it is on disk. */
async function endTurn(
  session: Session,
  turnId: string,
  outcome: "aborted" | "failed" | "interrupted",
  reason: string | null,
): Promise<void> {
  await untilWritten(session, "a turn's end was not recorded", { turnId }, () => {
    if (session.turnId !== turnId) return;
    session.commit(() => finishTurn(session, { outcome, reason }));
  });
}

/** Within a commit. Returns the number of dropped prompts. */
function dropQueue(session: Session, reason: string): number {
  const waiting = session.prompts.filter(({ state }) => state === "queued");
  for (const { turnId, messageId } of waiting) {
    session.host.journal.driven.removePrompt(turnId);
    session.note({ sessionUpdate: "prompt_dropped", turnId, messageId, reason }, turnId);
  }
  return waiting.length;
}

/** Stops the running turn, drops the queue, and ends the shell commands of callers. */
export async function abortTurn(
  session: Session,
  reason = "The turn before it was stopped.",
): Promise<{ aborted: boolean; droppedPrompts: number }> {
  const { turnId } = session;
  const droppedPrompts = session.commit(() => {
    withdrawRequests(session, "The turn was stopped.");
    return dropQueue(session, reason);
  });
  const endedShells = await endShells(session);
  if (turnId === null) return { aborted: endedShells > 0, droppedPrompts };
  await stopTurn(session, turnId);
  return { aborted: true, droppedPrompts };
}

/** Stops the running turn if a prompt that waits is to run next; also one that an earlier daemon had to stop. */
export function stopForNext(session: Session): void {
  const { turnId, work } = session;
  if (turnId === null || !session.prompts.some(({ stopsTurnId }) => stopsTurnId === turnId)) return;
  const isStopping = work.type === "turn" && work.turn.turnId === turnId && work.turn.isStopped;
  if (isStopping) return;
  stopTurn(session, turnId).catch((error: unknown) =>
    session.warn("a turn was not stopped for the next prompt", error, { turnId }),
  );
}

/** Resolves once the end of the turn is recorded. No-op if it is. */
async function stopTurn(session: Session, turnId: string): Promise<void> {
  if (session.turnId !== turnId) return;
  const turn = turnWork(session, turnId);
  turn.isStopped = true;
  stop(session, turn).catch((error: unknown) =>
    session.warn("a turn was not stopped", error, { turnId }),
  );
  await within(stopMs, turn.ended.promise);
  if (session.turnId === turnId) {
    // Whatever the agent still reports about this turn must not count for the next one.
    release(session);
    const silent = "The agent did not confirm that it has stopped.";
    await within(stopMs, endTurn(session, turnId, "aborted", silent));
  }
}

async function stop(session: Session, { turnId, delivery }: TurnWork): Promise<void> {
  // The delivery takes its prompt back.
  delivery?.controller.abort();
  await delivery?.done;
  if (session.turnId !== turnId) return;
  // If the agent cannot be reached, the turn ends by that.
  const agent = await attach(session);
  await agent.abort(AbortSignal.timeout(stopMs));
}

/** Rejects at the signal, also if the work ignores it. */
function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  work.then(resolve, reject);
  const abort = () => reject(signal.reason as Error);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return promise;
}
