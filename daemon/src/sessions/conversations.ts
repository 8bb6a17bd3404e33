// The conversation that the agent of a fork continues, as far as the agent has read it. Every kind reads it as text
// with its first prompt: then a fork between two kinds is the same as one within a kind, and needs nothing of
// the original's agent.
import type { Session } from "./session.ts";

/** What the agent reads before this prompt; undefined if it has read it, or if there is nothing to read. */
export function undeliveredConversation(session: Session): string | undefined {
  const { fork } = session.record!;
  if (!fork || fork.deliveredWith !== null) return undefined;
  const text = session.host.journal.driven.conversation(session.id);
  if (text === undefined) return undefined;
  const shown = fork.isSummary ? `## Summary\n\n${text.replaceAll(/^/gm, "> ")}` : text;
  return quote(shown, fork.hasFiles);
}

/** The conversation quotes every line of what was said, so that no speaker can pass for another, or for us. */
export function quote(text: string, hasFiles: boolean): string {
  const files = hasFiles
    ? "Its files are in the working directory."
    : "Its files are no longer kept, so the working directory does not have its changes.";
  const safe = text.replaceAll(/<(?=\s*\/?\s*earlier-conversation)/gi, "&lt;");
  return `<earlier-conversation>\nThis session continues another one. ${files} This was said there, each line of it quoted:\n\n${safe}\n</earlier-conversation>`;
}

/**
 * Records that the agent has accepted the prompt that contained the conversation. If this cannot be recorded,
 * the next prompt contains the conversation again.
 */
export function noteDelivered(session: Session, messageId: string): void {
  const fork = session.record?.fork;
  try {
    if (fork) session.change({ fork: { ...fork, deliveredWith: messageId } });
  } catch (error) {
    session.warn("the agent reads the earlier conversation again with its next prompt", error);
  }
}

/**
 * Records that the agent may no longer have these messages. If one of them contained the conversation, the next
 * prompt contains it again; an agent that still has it reads it twice.
 */
export function noteForgotten(session: Session, messageIds: readonly string[]): void {
  const fork = session.record?.fork;
  if (!fork || fork.deliveredWith === null || !messageIds.includes(fork.deliveredWith)) return;
  session.change({ fork: { ...fork, deliveredWith: null } });
}
