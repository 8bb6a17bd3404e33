// What the agent of a fork will read: the conversation, or a summary of it that an agent of the same kind writes.
import {
  AgentNotReady,
  type AgentEvent,
  type Driver,
  type SessionSettings,
} from "../drivers/driver.ts";
import { within } from "../pause.ts";
import { countUsage } from "./agent-events.ts";
import { quote } from "./conversations.ts";
import { makeMessageId, makeTurnId } from "./ids.ts";
import { refuseProjectConfig } from "./project-config.ts";
import type { Session } from "./session.ts";

export interface Briefing {
  conversation: string;
  /** Whether the agent reads a summary instead. */
  summarize: boolean;
  settings: SessionSettings;
}

const summaryMs = 5 * 60_000;
const endMs = 5_000;
/** A summary that is longer is cut: it is meant to be short, and the log shows it. */
const longestSummary = 40_000;

const instruction = `Summarize the conversation above, so that another coding agent can continue the work without having read it. Say what the user wants, what was decided and why, what was done in which files, what failed, and what is left to do. Call no tools. Answer with the summary only.`;

/** Stores what the agent will read. A summary takes a turn of an agent of the same kind. */
export async function storeConversation(
  session: Session,
  driver: Driver,
  { conversation, summarize, settings }: Briefing,
  signal: AbortSignal,
): Promise<void> {
  if (conversation === "") return;
  const text = summarize
    ? await makeSummary(session, driver, settings, conversation, signal)
    : conversation;
  session.host.journal.driven.setConversation(session.id, text);
}

/** Within the commit that makes the session active. */
export function noteConversation(session: Session, isCut: boolean): void {
  const { fork, usage, costUsd, costIsEstimate } = session.record!;
  const { originalId, hasFiles, isSummary } = fork!;
  const text = session.host.journal.driven.conversation(session.id);
  session.note({
    sessionUpdate: "session_forked",
    fromSessionId: originalId,
    mode: isSummary ? "compress" : "full",
    isCut,
    hasFiles,
    summary: isSummary ? (text ?? null) : null,
  });
  if (usage) session.note({ sessionUpdate: "usage_update", usage, costUsd, costIsEstimate });
}

/**
 * A conversation of its own, which ends with the summary: the session's agent begins without the transcript. No
 * call of a tool is allowed in it. Throws AgentNotReady.
 */
async function makeSummary(
  session: Session,
  driver: Driver,
  settings: SessionSettings,
  conversation: string,
  signal: AbortSignal,
): Promise<string> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(summaryMs)]);
  const ended = Promise.withResolvers<void>();
  let last = "";
  const sink = (event: AgentEvent) => {
    if (event.type === "update" && event.update.sessionUpdate === "agent_message_chunk") {
      if (event.update.parentToolCallId === null) last = event.update.content.text;
    } else if (event.type === "usage") {
      if (session.record) countUsage(session, event);
    } else if (event.type === "request") {
      const isPermission = "permission" in event.asked;
      const answer = isPermission
        ? ({ permission: "reject" } as const)
        : ({ dismiss: true } as const);
      agent.answer(event.key, answer, until).catch(() => {});
    } else if (event.type === "turn_ended") {
      if (event.outcome === "completed") ended.resolve();
      else ended.reject(new AgentNotReady(`The summary failed: ${event.reason ?? event.outcome}`));
    } else if (event.type === "lost") {
      ended.reject(new AgentNotReady(`The summary failed: ${event.reason}`));
    }
  };
  const decide = () => ({ answer: "deny" as const, rule: "a summary uses no tools" });
  await session.host.restarting.get(driver)?.catch(() => {});
  const checkConfig = () => refuseProjectConfig(session.host, driver, settings.directory);
  await checkConfig();
  // Trusted hooks and servers are for the session itself.
  const agent = await driver.start({ ...settings, trusted: undefined, decide }, sink, until);
  const onAbort = () =>
    ended.reject(
      new AgentNotReady("The summary was not ready in time. Fork again, with mode full."),
    );
  ended.promise.catch(() => {});
  until.addEventListener("abort", onAbort, { once: true });
  try {
    const { now } = session.host;
    const ids = { turnId: makeTurnId(now()), messageId: makeMessageId(now()) };
    const { model, options } = settings;
    const text = {
      task: { type: "prompt" as const },
      text: instruction,
      context: [quote(conversation, true)],
    };
    await agent.prompt({ ...ids, ...text, attachments: [], model, options, agent: null }, until);
    await ended.promise;
  } finally {
    until.removeEventListener("abort", onAbort);
    await within(
      endMs,
      agent.end(AbortSignal.timeout(endMs)).catch(() => {}),
    );
  }
  if (last.trim() === "") throw new AgentNotReady("The summary failed: the agent wrote nothing.");
  return last.slice(0, longestSummary);
}
