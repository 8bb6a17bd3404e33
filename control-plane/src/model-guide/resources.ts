// Texts about a session that a client can attach to a conversation: what was said, and what was changed.
import type { FileChange, SessionEvent } from "@hawser/contract";
import { readUpdate } from "@hawser/contract";
import type { CallAction, GuideResource } from "../transports/mcp/guide.ts";

/** The largest text of a resource, in characters. */
const largestText = 200_000;
const mostEntries = 500;
/** The types of entries that say something to a reader. */
const shownTypes = [
  "user_message_chunk",
  "agent_message_chunk",
  "tool_call",
  "turn_finished",
  "shell",
] as const;

export const resources: readonly GuideResource[] = [
  {
    uriTemplate: "hawser://sessions/{sessionId}/transcript",
    name: "transcript",
    title: "A session's transcript",
    description: "What was asked and answered in a session, and which tools ran, as text.",
    mimeType: "text/markdown",
    read: (call, { sessionId }) => transcriptOf(call, sessionId!),
  },
  {
    uriTemplate: "hawser://sessions/{sessionId}/diff",
    name: "diff",
    title: "A session's changes",
    description: "Everything that a session has changed, as one patch.",
    mimeType: "text/x-diff",
    read: (call, { sessionId }) => diffOf(call, sessionId!),
  },
];

/** Reads one page from the end, so that a long log costs no more calls than a short one. */
async function transcriptOf(call: CallAction, sessionId: string): Promise<string> {
  const input = { sessionId, tail: true, limit: mostEntries, types: shownTypes };
  const { events } = (await call("list_session_events", input)) as { events: SessionEvent[] };
  const passages = events.flatMap(
    ({ update }) => passageOf(update as { sessionUpdate: string }) ?? [],
  );
  const text = passages.join("\n\n");
  const isCut = events.length >= mostEntries || text.length > largestText;
  const head = "(Earlier passages are left out; list_session_events has them.)\n\n";
  return `${isCut ? head : ""}${text.slice(-largestText)}`;
}

/** One entry as a passage of the transcript; undefined for messages of sub-agents. */
function passageOf(stored: { sessionUpdate: string }): string | undefined {
  const update = readUpdate(stored);
  switch (update?.sessionUpdate) {
    case "user_message_chunk":
      return `## Prompt\n\n${update.content.text}`;
    case "agent_message_chunk":
      return update.parentToolCallId === null ? `## Agent\n\n${update.content.text}` : undefined;
    case "tool_call":
      return `- ${update.title}`;
    case "turn_finished":
      return `(turn ${update.outcome}${update.reason === null ? "" : `: ${update.reason}`})`;
    case "shell":
      return `(shell command ended with ${update.exitCode ?? update.reason})`;
    default:
      return undefined;
  }
}

async function diffOf(call: CallAction, sessionId: string): Promise<string> {
  const { files } = (await call("get_session_diff", { sessionId })) as { files: FileChange[] };
  let text = "";
  for (const { path, added, removed } of files) {
    if (text.length > largestText) {
      text += `# ${path}: ${added} lines added, ${removed} removed; see get_session_file_diff\n`;
      continue;
    }
    for (let cursor: string | null = null; ;) {
      const page = (await call("get_session_file_diff", {
        sessionId,
        path,
        ...(cursor !== null && { cursor }),
      })) as { patch: string; nextCursor: string | null };
      text += page.patch;
      cursor = page.nextCursor;
      if (cursor === null || text.length > largestText) break;
    }
  }
  return text;
}
