// Accepting prompts into a session's queue: texts, slash commands and summaries. One prompt is one turn;
// turns.ts delivers them in their order.
import type { ModelChoice, SessionMode } from "@hawser/contract";
import type { WantedFile } from "../attachments/attachments.ts";
import { CommandRefusal } from "../command-refusal.ts";
import type { Task } from "../drivers/driver.ts";
import { checkAcceptsAttachments, checkCommand, checkPromptChoices } from "../drivers/offer.ts";
import type { KeptPrompt } from "../journal/driven-sessions.ts";
import { attach } from "./attach.ts";
import { makeMessageId, makeTurnId } from "./ids.ts";
import { narrowMode } from "./modes.ts";
import { checkProjectConfig } from "./project-config.ts";
import { asRefusal } from "./refusals.ts";
import { userIn, type Session } from "./session.ts";
import { requirePrompter } from "./sharing.ts";
import type { Person } from "./strangers.ts";

const longestQueue = 20;

export interface WantedPrompt {
  sessionId: string;
  text: string;
  model?: ModelChoice | undefined;
  options?: Record<string, string> | undefined;
  agent?: string | undefined;
  task?: Task;
  attachments?: readonly WantedFile[] | undefined;
  /** The widest mode that the organization allows now. */
  highestMode?: SessionMode | undefined;
  /** Who sends it, if a person does. */
  ownerId?: string | null | undefined;
}

export interface AcceptedPrompt {
  turnId: string;
  messageId: string;
  queued: boolean;
  model: ModelChoice | null;
}

/** Throws refusals. The returned function queues the prompt, in the commit of the command's outcome. */
export async function acceptPrompt(
  session: Session,
  wanted: WantedPrompt,
  signal: AbortSignal,
): Promise<() => AcceptedPrompt> {
  const { text, agent = null, task = { type: "prompt" } } = wanted;
  const check = () => {
    const record = session.require(task.type === "command" ? "command" : "prompt");
    requirePrompter(session, wanted.ownerId);
    const waiting = session.prompts.filter(({ state }) => state === "queued").length;
    if (waiting < longestQueue) return record;
    const message = `${longestQueue} prompts wait already. Wait until one has started, or call abort_session, which stops the turn and discards all prompts that wait.`;
    throw new CommandRefusal("queue_full", message);
  };
  const { directory } = check();
  try {
    const { driver } = session;
    // First: the agent reads the directory whenever it is asked something.
    await checkProjectConfig(session);
    const attached = await attach(session);
    await checkPromptChoices(driver, wanted, signal);
    if (task.type === "command") await checkCommand(driver, attached, task.name, directory, signal);
    if (wanted.attachments?.length) checkAcceptsAttachments(driver);
  } catch (error) {
    throw asRefusal(error);
  }
  const attachments = await session.host.attachments.bring(wanted.attachments ?? [], signal);
  return () => {
    const record = check();
    narrowMode(session, wanted.highestMode);
    const model = wanted.model ?? record.model;
    const options = { ...record.options, ...wanted.options };
    // Model and options also apply to later prompts, the agent's mode does not.
    if (wanted.model ?? wanted.options) session.change({ model, options });
    const by = personOf(wanted.ownerId);
    return {
      ...enqueue(session, { text, model, options, agent, task, attachments, ...by }),
      model,
    };
  };
}

/** Throws refusals. The returned function queues the turn that condenses the session's history. */
export async function acceptSummary(
  session: Session,
  ownerId: string | null | undefined,
): Promise<() => { turnId: string }> {
  const { kind } = session.require("summary");
  requirePrompter(session, ownerId);
  try {
    if (!session.driver.abilities.summarize) {
      const message = `${kind} sessions cannot be summarized. Call run_command with the command "compact" instead.`;
      throw new CommandRefusal("capability_missing", message);
    }
    await checkProjectConfig(session);
    await attach(session);
  } catch (error) {
    throw asRefusal(error);
  }
  return () => {
    const { model, options } = session.require("summary");
    const task = { type: "summarize" } as const;
    const by = personOf(ownerId);
    const { turnId } = enqueue(session, { text: "", model, options, agent: null, task, ...by });
    return { turnId };
  };
}

/** Within a commit. */
function enqueue(
  session: Session,
  prompt: Omit<KeptPrompt, "turnId" | "messageId" | "state">,
): { turnId: string; messageId: string; queued: boolean } {
  const { now, journal } = session.host;
  const turnId = makeTurnId(now());
  const messageId = makeMessageId(now());
  const queued = session.prompts.length > 0;
  const kept = { ...prompt, turnId, messageId, ...(!queued && { startsAtOnce: true }) };
  journal.driven.addPrompt(session.id, { ...kept, state: "queued" });
  if (queued) noteQueued(session, kept);
  session.afterwards(() => session.wake());
  return { turnId, messageId, queued };
}

const personOf = (ownerId: Person) => (ownerId ? { by: userIn(ownerId) } : {});

/** Within a commit. */
export function noteQueued(
  session: Session,
  prompt: Pick<KeptPrompt, "turnId" | "messageId" | "task" | "text">,
): void {
  const { turnId, messageId } = prompt;
  const text = shownText(prompt) ?? "";
  session.note({ sessionUpdate: "prompt_queued", turnId, messageId, text }, turnId);
}

export const taskOf = ({ task }: Pick<KeptPrompt, "task">): Task => task ?? { type: "prompt" };

/** The text of a prompt as the log shows it; undefined for a summary, which nobody wrote. */
export function shownText(prompt: Pick<KeptPrompt, "task" | "text">): string | undefined {
  const task = taskOf(prompt);
  if (task.type === "summarize") return undefined;
  return task.type === "command" ? `/${task.name} ${prompt.text}`.trimEnd() : prompt.text;
}
