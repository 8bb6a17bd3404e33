// What `hawser watch` shows of each entry of a session's log: a heading of ours, and the text of others below it.
import type { SessionUpdate } from "@hawser/client";
import { safeJson } from "./terminal.ts";

export interface Shown {
  /** Ours. */
  heading: string;
  /** Text of an agent, a person or a program, shown on the same line. */
  title?: string;
  /** The same, on lines of its own. */
  text?: string;
  /** Ours, below the text. */
  notes?: string[];
}

type UpdateOf<Type extends SessionUpdate["sessionUpdate"]> = Extract<
  SessionUpdate,
  { sessionUpdate: Type }
>;

const mostOutputLines = 10;
/** Maximum length of an answer that is shown as an example. */
const longestLabel = 40;

/** undefined for entries that say nothing to a reader. Titles of tool calls are kept until their end. */
export function showUpdate(update: SessionUpdate, titles: Map<string, string>): Shown | undefined {
  switch (update.sessionUpdate) {
    case "user_message_chunk":
      return { heading: "prompt:", text: update.content.text };
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return { heading: headingOf(update), text: update.content.text };
    case "tool_call":
      titles.set(update.toolCallId, update.title);
      return { heading: "tool:", title: update.title };
    case "tool_call_update":
      return showToolEnd(update, titles);
    case "plan":
      return {
        heading: "plan:",
        text: update.entries.map(({ status, content }) => `${status}: ${content}`).join("\n"),
      };
    case "prompt_queued":
      return { heading: "prompt waits for the running turn:", text: update.text };
    case "prompt_changed":
      return { heading: "prompt that waits was changed:", text: update.text };
    case "prompt_dropped":
      return { heading: "prompt dropped:", title: update.reason };
    case "turn_finished":
      return withReason(`turn ${update.outcome}`, update.reason);
    case "turn_continued":
      return { heading: `turn continues in session ${update.sessionId} with ${update.kind}` };
    case "request_raised":
      return showRequest(update);
    case "request_settled":
      return withReason(
        `request ${update.outcome}${update.answer ? ` (${update.answer})` : ""}`,
        update.reason,
      );
    case "call_decided":
      if (update.answer === "allow") return undefined;
      return { heading: "call denied by a rule:", title: update.rule };
    case "shell":
      return {
        ...withReason(`shell command ended with ${update.exitCode ?? "no code"}`, update.reason),
        text: firstLines(update.output),
      };
    case "mode_changed":
      return withReason(`mode ${update.mode}`, update.reason);
    case "session_status":
      return withReason(`session ${update.status}`, update.reason);
    case "session_compacted":
      return { heading: "conversation replaced by a summary" };
    case "session_reverted":
      return { heading: `conversation and files are as before message ${update.messageId}` };
    case "session_info_update":
      return update.title === null ? undefined : { heading: "title:", title: update.title };
    case "fallback_taken":
      return { heading: `${update.kind} is used instead of ${update.preferredKind}` };
    case "journal_reset":
      return { heading: "the host has a new journal; what it had not reported is lost" };
    case "config_trusted":
      return update.reason === null
        ? undefined
        : { heading: "trusted configuration is not used:", title: update.reason };
    default:
      return undefined;
  }
}

/** The heading of a message or thought, also while it is being written. */
export function headingOf(
  update: Pick<UpdateOf<"agent_message_chunk" | "agent_thought_chunk">, "sessionUpdate"> & {
    parentToolCallId?: string | null;
  },
): string {
  const writer = update.parentToolCallId ? "sub-agent" : "agent";
  return update.sessionUpdate === "agent_thought_chunk" ? `${writer} thinks:` : `${writer}:`;
}

function withReason(heading: string, reason: string | null): Shown {
  return reason === null ? { heading } : { heading: `${heading}:`, title: reason };
}

function showToolEnd(update: UpdateOf<"tool_call_update">, titles: Map<string, string>): Shown {
  const title = update.title ?? titles.get(update.toolCallId) ?? update.toolCallId;
  titles.delete(update.toolCallId);
  const parts = update.content.map((part) =>
    part.type === "patch" ? `${part.path} +${part.added} -${part.removed}` : part.content.text,
  );
  const text = firstLines(parts.join("\n"));
  const heading = update.status === "failed" ? "tool failed:" : "tool done:";
  return { heading, title, ...(text && { text }) };
}

function firstLines(text: string): string {
  const lines = text.trimEnd().split("\n");
  if (lines.length <= mostOutputLines) return lines.join("\n");
  const rest = lines.length - mostOutputLines;
  return [...lines.slice(0, mostOutputLines), `(${rest} more lines)`].join("\n");
}

function showRequest({ requestId, permission, questions }: UpdateOf<"request_raised">): Shown {
  if (permission) {
    const { title, detail, alwaysRules } = permission;
    const rules = alwaysRules.map((rule) => `always stores the rule: ${rule}`);
    return {
      heading: "the agent asks for permission:",
      title,
      text: [...(detail === null ? [] : [detail]), ...rules].join("\n"),
      notes: [
        `Allow it:  ${callOf("answer_permission", { requestId, answer: "once" })}`,
        `Refuse it: ${callOf("answer_permission", { requestId, answer: "reject" })}`,
      ],
    };
  }
  const asked = (questions ?? []).map(({ question, options, multiple, freeText }) => {
    const hints = [multiple && "several labels are allowed", freeText && "or any text"];
    const labels = options.map(({ label, description }) =>
      description === null ? `- ${label}` : `- ${label}: ${description}`,
    );
    return [question, ...labels, ...hints.filter((hint) => hint !== false)].join("\n");
  });
  const answers = (questions ?? []).map(({ options }) => [
    options.find(({ label }) => label.length <= longestLabel)?.label ?? "…",
  ]);
  return {
    heading: "the agent asks:",
    text: asked.join("\n"),
    notes: [
      `Answer, for example: ${callOf("answer_question", { requestId, answers })}`,
      `Dismiss it:          ${callOf("answer_question", { requestId, reject: true })}`,
    ],
  };
}

/** A command that can be pasted into a shell. Labels are texts of the agent, so every quote is escaped. */
export function callOf(action: string, body: object): string {
  return `hawser call ${action} '${safeJson(body).replaceAll("'", `'\\''`)}'`;
}
