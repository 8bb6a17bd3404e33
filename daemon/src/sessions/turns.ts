// Prompts and turns: one prompt is one turn. While one runs the others wait in the journal, and are
// given to the agent in their order. A prompt is written down as sent before the agent is asked, so it
// is never given twice; one that a crash cut ends as interrupted.
import type { ModelChoice } from "@hawser/contract";
import type { SentAttachment } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import { AgentNotReady, type AgentSession, type Task } from "../drivers/driver.ts";
import type { KeptPrompt } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { pause, within } from "../pause.ts";
import { journalFull, openSession } from "./admission.ts";
import { attach, letGo } from "./attach.ts";
import { checkCommand, checkTakesAttachments, chooseForPrompt } from "./choices.ts";
import {
  checkProjectConfig,
  driverOf,
  mayWork,
  note,
  runningTurn,
  type Core,
  type Live,
} from "./core.ts";
import { takeSnapshot } from "./file-work.ts";
import { makeMessageId, makeTurnId } from "./ids.ts";
import { finishTurn } from "./listening.ts";
import { asRefusal } from "./refusals.ts";
import { withdrawRequests } from "./requests.ts";
import { endShells } from "./shells.ts";
import { untilWritten } from "./until-written.ts";

const longestQueue = 20;
const giveMs = 30_000;
const giveAgainMs = 5_000;
const stopMs = 8_000;
/** For a prompt that may or may not have arrived. */
const recallMs = 2_000;

export interface WantedPrompt {
  sessionId: string;
  text: string;
  model?: ModelChoice | undefined;
  options?: Record<string, string> | undefined;
  agent?: string | undefined;
  task?: Task;
  attachments?: readonly SentAttachment[] | undefined;
}

export interface TakenPrompt {
  turnId: string;
  messageId: string;
  queued: boolean;
  model: ModelChoice | null;
}

/** Throws refusals. What it gives writes the prompt down when called, with the command's outcome. */
export async function takePrompt(
  core: Core,
  wanted: WantedPrompt,
  signal: AbortSignal,
): Promise<() => TakenPrompt> {
  const { sessionId, task = { type: "prompt" } } = wanted;
  const { driven, log } = core.journal;
  const known = openSession(core, sessionId);
  checkRoom(core, sessionId);
  try {
    // Before anything is asked of the agent: it would look into the directory.
    const driver = driverOf(core, known.kind);
    await checkProjectConfig(core, driver, known);
    await attach(core, sessionId);
    await chooseForPrompt(driver, wanted, known, signal);
    if (task.type === "command") await checkCommand(driver, task.name, known, signal);
    if (wanted.attachments?.length) checkTakesAttachments(driver);
  } catch (error) {
    throw asRefusal(error);
  }
  const attachments = await core.attachments.bring(wanted.attachments ?? [], signal);
  return () => {
    const session = openSession(core, sessionId);
    checkRoom(core, sessionId);
    if (!log.acceptsTurns()) throw journalFull();
    const model = wanted.model ?? session.model;
    const options = { ...session.options, ...wanted.options };
    const turnId = makeTurnId(core.now());
    const messageId = makeMessageId(core.now());
    const { text, agent = null } = wanted;
    const queued = driven.prompts(sessionId).length > 0;
    // Model and options hold for later prompts too, the agent's mode does not.
    if (wanted.model ?? wanted.options) driven.change(sessionId, { model, options });
    driven.addPrompt(sessionId, {
      turnId,
      messageId,
      text,
      model,
      options,
      agent,
      task,
      attachments,
      state: "queued",
    });
    if (queued) {
      const said = saidBy({ task, text });
      const update = {
        sessionUpdate: "prompt_queued",
        turnId,
        messageId,
        text: said ?? "",
      } as const;
      note(core, sessionId, update, turnId);
    }
    // Once all of this is on disk.
    setImmediate(() => core.wake(sessionId));
    return { turnId, messageId, queued, model };
  };
}

function checkRoom(core: Core, sessionId: string): void {
  if (!core.journal.log.acceptsTurns()) throw journalFull();
  const waiting = core.journal.driven
    .prompts(sessionId)
    .filter(({ state }) => state === "queued").length;
  if (waiting < longestQueue) return;
  const message = `${longestQueue} prompts wait already. Wait for one to be taken, or stop the turn.`;
  throw new CommandRefusal("queue_full", message);
}

/** Gives what waits to the agent, one prompt after the other. */
export function pump(core: Core, sessionId: string): void {
  const live = core.live(sessionId);
  live.isWoken = true;
  live.pumping ??= giveAll(core, sessionId, live).finally(() => {
    live.pumping = undefined;
    // Woken after the last look, when this one still seemed to be at work.
    if (live.isWoken && !core.closed.aborted) pump(core, sessionId);
  });
}

async function giveAll(core: Core, sessionId: string, live: Live): Promise<void> {
  while (live.isWoken && !core.closed.aborted) {
    live.isWoken = false;
    try {
      await giveNext(core, sessionId, live);
    } catch (error) {
      if (core.closed.aborted) return;
      core.log.warn("a prompt was not given", { sessionId, error: describe(error) });
      // It still waits, and nobody else would come: a disk may be full for a while.
      await pause(giveAgainMs, core.closed);
      live.isWoken = true;
    }
  }
}

async function giveNext(core: Core, sessionId: string, live: Live): Promise<void> {
  const { driven } = core.journal;
  const next = () => {
    const session = driven.get(sessionId);
    if (!session || !mayWork(session)) return undefined;
    const [first] = driven.prompts(sessionId);
    return first?.state === "queued" ? { session, prompt: first } : undefined;
  };
  // What is said now follows what the session is taken back to.
  await live.reverting;
  const waiting = next();
  if (!waiting) return;
  let agent: AgentSession;
  try {
    await checkProjectConfig(core, driverOf(core, waiting.session.kind), waiting.session);
    agent = await attach(core, sessionId);
  } catch (error) {
    if (core.closed.aborted) return;
    core.journal.atOnce(() => dropQueue(core, sessionId, describe(error)));
    return;
  }
  if (core.closed.aborted) return;
  if (live.agent !== agent) {
    live.isWoken = true;
    return;
  }
  const prompt = core.journal.atOnce(() => {
    const found = next()?.prompt;
    if (!found) return undefined;
    const { turnId, messageId, model, agent: mode } = found;
    driven.markSent(turnId);
    core.journal.messages.add(sessionId, messageId);
    note(core, sessionId, { sessionUpdate: "turn_started", messageId, model, agent: mode }, turnId);
    const text = saidBy(found);
    if (text !== undefined) {
      const content = { type: "text" as const, text };
      note(core, sessionId, { sessionUpdate: "user_message_chunk", messageId, content }, turnId);
    }
    const { untold = [] } = driven.get(sessionId)!;
    if (taskOf(found).type !== "prompt" || untold.length === 0) return { ...found, context: [] };
    driven.change(sessionId, { untold: [] });
    return { ...found, context: untold };
  });
  if (prompt) await give(core, sessionId, live, agent, prompt);
}

const taskOf = ({ task }: Pick<KeptPrompt, "task">): Task => task ?? { type: "prompt" };

/** What the log shows of a prompt; nothing of one that nobody wrote. */
function saidBy(prompt: Pick<KeptPrompt, "task" | "text">): string | undefined {
  const task = taskOf(prompt);
  if (task.type === "summarize") return undefined;
  return task.type === "command" ? `/${task.name} ${prompt.text}`.trimEnd() : prompt.text;
}

async function give(
  core: Core,
  sessionId: string,
  live: Live,
  agent: AgentSession,
  prompt: KeptPrompt & { context: readonly string[] },
): Promise<void> {
  const { turnId, messageId, text, model, options, agent: mode } = prompt;
  const { context, attachments = [] } = prompt;
  const controller = new AbortController();
  const done = Promise.withResolvers<void>();
  live.giving = { controller, done: done.promise };
  try {
    const signal = AbortSignal.any([controller.signal, AbortSignal.timeout(giveMs)]);
    const snapshot = await orAborted(takeSnapshot(core, sessionId), signal);
    // The agent may have been lost meanwhile, and the turn with it.
    if (core.closed.aborted || runningTurn(core, sessionId)?.turnId !== turnId) return;
    if (live.agent !== agent) throw new AgentNotReady("The agent was lost before it was asked.");
    if (snapshot) core.journal.messages.setSnapshot(messageId, snapshot);
    const what = { task: taskOf(prompt), text, context, attachments };
    const told = { turnId, messageId, ...what, model, options, agent: mode };
    await orAborted(agent.prompt(told, signal), signal);
  } catch (error) {
    if (core.closed.aborted || runningTurn(core, sessionId)?.turnId !== turnId) return;
    // It may have arrived all the same.
    await within(
      recallMs,
      agent.abort(AbortSignal.timeout(recallMs)).catch(() => {}),
    );
    if (controller.signal.aborted) await endTurn(core, sessionId, turnId, "aborted", null);
    else {
      // Gone while it was asked: how far it got nobody knows.
      const outcome = error instanceof AgentNotReady ? "interrupted" : "failed";
      await endTurn(core, sessionId, turnId, outcome, error);
    }
  } finally {
    live.giving = undefined;
    done.resolve();
  }
}

/** The agent will not tell its end, so it is written here, as soon as it can be. */
async function endTurn(
  core: Core,
  sessionId: string,
  turnId: string,
  outcome: "aborted" | "failed" | "interrupted",
  error: unknown,
): Promise<void> {
  const reason = error === null ? null : describe(error);
  await untilWritten(core, "a turn's end was not recorded", { sessionId, turnId }, () => {
    if (runningTurn(core, sessionId)?.turnId !== turnId) return;
    const after = core.journal.atOnce(() => finishTurn(core, sessionId, outcome, reason));
    for (const each of after) each();
  });
}

/** Within a commit. Gives how many there were. */
function dropQueue(core: Core, sessionId: string, reason: string): number {
  const { driven } = core.journal;
  const waiting = driven.prompts(sessionId).filter(({ state }) => state === "queued");
  for (const { turnId, messageId } of waiting) {
    driven.removePrompt(turnId);
    note(core, sessionId, { sessionUpdate: "prompt_dropped", turnId, messageId, reason }, turnId);
  }
  return waiting.length;
}

/** Stops the running turn and drops what waits behind it; shell commands of callers end with it. */
export async function abortTurn(
  core: Core,
  sessionId: string,
  reason = "The turn before it was stopped.",
): Promise<{ aborted: boolean; droppedPrompts: number }> {
  const live = core.live(sessionId);
  const turn = runningTurn(core, sessionId);
  const droppedPrompts = core.journal.atOnce(() => {
    withdrawRequests(core, sessionId, "The turn was stopped.");
    return dropQueue(core, sessionId, reason);
  });
  const endedShells = await endShells(core, sessionId);
  if (!turn) return { aborted: endedShells > 0, droppedPrompts };
  const { turnId } = turn;
  live.aborting = turnId;
  const isRunning = () => runningTurn(core, sessionId)?.turnId === turnId;
  const ended = untilTurnEnds(live, isRunning);
  stop(core, sessionId, live, isRunning).catch((error: unknown) =>
    core.log.warn("a turn was not stopped", { sessionId, turnId, error: describe(error) }),
  );
  await within(stopMs, ended);
  if (isRunning()) {
    // Whatever it still says of that turn must not be taken for the next one's.
    letGo(core, sessionId);
    const silent = new Error("The agent did not say that it has stopped.");
    await within(stopMs, endTurn(core, sessionId, turnId, "aborted", silent));
  }
  return { aborted: true, droppedPrompts };
}

async function stop(
  core: Core,
  sessionId: string,
  live: Live,
  isRunning: () => boolean,
): Promise<void> {
  // Still on its way: whoever gives it takes it back.
  live.giving?.controller.abort();
  await live.giving?.done;
  if (!isRunning()) return;
  // When the agent cannot be had, the turn is over by that.
  const agent = await attach(core, sessionId);
  await agent.abort(AbortSignal.timeout(stopMs));
}

function untilTurnEnds(live: Live, isRunning: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiter = () => {
    if (isRunning()) return;
    live.waiters.delete(waiter);
    resolve();
  };
  live.waiters.add(waiter);
  waiter();
  return promise;
}

/** Does not wait for a driver that takes no notice of its signal. */
function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  work.then(resolve, reject);
  const abort = () => reject(signal.reason as Error);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return promise;
}
