// A session's log as text: what was asked and answered, and which tools were called and failed. Output of tools
// and of shell commands is left out: it is long, and of a shell command it may be meant for the caller only.
// Each line of what was said is quoted, so that no text can pass for that of another speaker.
import { readUpdate, type SessionUpdate, type UpdateOf } from "@hawser/contract";
import { shortened } from "../postgres/shortened.ts";

/** The types of entries that say something to a reader. */
export const saidTypes = [
  "user_message_chunk",
  "agent_message_chunk",
  "tool_call",
  "tool_call_update",
  "turn_finished",
  "shell",
  "session_reverted",
] as const;

interface Retelling {
  /** Whether to show the first line of why a tool failed. It can be a line of the tool's output. */
  showsFailures?: boolean;
}

/** A passage for each entry that says something, in their order. What was reverted is left out. */
export function passagesOf(
  entries: readonly { sessionUpdate: string }[],
  retelling: Retelling = {},
): string[] {
  const updates = entries.flatMap((entry) => readUpdate(entry) ?? []);
  const ends = new Map(
    updates.flatMap((each) =>
      each.sessionUpdate === "tool_call_update" ? [[each.toolCallId, each] as const] : [],
    ),
  );
  const passages: { text: string; messageId?: string }[] = [];
  for (const update of updates) {
    if (update.sessionUpdate === "session_reverted") {
      const { messageId } = update;
      // If the message is older than the first entry, everything that was said since then is reverted.
      const from = passages.findLastIndex((passage) => passage.messageId === messageId);
      passages.length = Math.max(from, 0);
      continue;
    }
    const text = passageOf(update, ends, retelling);
    if (text === undefined) continue;
    const isPrompt = update.sessionUpdate === "user_message_chunk";
    passages.push({ text, ...(isPrompt && { messageId: update.messageId }) });
  }
  return passages.map(({ text }) => text);
}

type ToolEnd = UpdateOf<"tool_call_update">;

/** undefined for messages of sub-agents, ends of tool calls, and entries of other types. */
function passageOf(
  update: SessionUpdate,
  ends: Map<string, ToolEnd>,
  retelling: Retelling,
): string | undefined {
  switch (update.sessionUpdate) {
    case "user_message_chunk":
      return `## Prompt\n\n${quoted(update.content.text)}`;
    case "agent_message_chunk":
      if (update.parentToolCallId !== null) return undefined;
      return `## Agent\n\n${quoted(update.content.text)}`;
    case "tool_call":
      return `- ${firstLine(update.title)}${endingOf(ends.get(update.toolCallId), retelling)}`;
    case "turn_finished":
      return `(turn ${update.outcome}${update.reason === null ? "" : `: ${firstLine(update.reason)}`})`;
    case "shell":
      return `(shell command ended with ${update.exitCode ?? firstLine(update.reason ?? "")})`;
    default:
      return undefined;
  }
}

/** A call that a person or the policy rejected has failed too. */
function endingOf(end: ToolEnd | undefined, { showsFailures }: Retelling): string {
  if (!end) return " (has not ended)";
  if (end.status === "completed") return "";
  const [said] = end.content.flatMap((each) => (each.type === "content" ? each.content.text : []));
  const line = showsFailures ? firstLine(said ?? "") : "";
  return line ? ` (failed: ${line})` : " (failed)";
}

/** Control characters would be sent to hosts in six bytes each. */
const plain = (text: string) => text.replaceAll(/[^\P{Cc}\n\t]/gu, "\u{FFFD}");

export const quoted = (text: string) => plain(text).replaceAll(/^/gm, "> ");

const longestTitle = 200;

/** Never half of a surrogate pair: clients and hosts refuse such a text. */
const firstLine = (text: string) => shortened(plain(text).trim().split("\n")[0]!, longestTitle);
