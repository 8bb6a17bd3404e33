// Translates messages of Claude Code into AgentEvents. Knows nothing of processes and turns, so the output
// of a running process and a transcript are read in the same way.
import { within } from "../../pause.ts";
import type { AgentEvent, ItemUpdate } from "../driver.ts";
import type {
  AssistantMessage,
  Block,
  Message,
  StreamEvent,
  ToolResult,
  ToolResults,
  ToolUse,
} from "./messages.ts";
import { contentOf, exitCodeOf, inputOf, kindOf, planOf, titleOf } from "./tool-calls.ts";

export interface EventReporter {
  /** Reports a message; no-op for messages that sessions do not show. */
  onMessage(message: Message): void;
  /** Notes a message that was reported before. */
  skip(message: Message): void;
  /** Resolves when the tool call was reported, or after a second: requests arrive on another channel. */
  whenReported(toolCallId: string): Promise<unknown>;
  /** Whether a tool call runs, so that the model is not expected to send anything. */
  isCalling(): boolean;
  /** Reports incomplete text, and calls without a result as failed with the given text. */
  closeOpenItems(why: string): void;
}

interface Writing {
  itemId: string;
  kind: "message" | "thought";
  text: string;
}

export function createEventReporter(
  directory: string,
  report: (event: AgentEvent) => void,
): EventReporter {
  /** Incomplete answer of each agent, by parent call; null for the session's own agent. */
  const answers = new Map<string | null, { id: string; writing: Writing | undefined }>();
  /** Number of reported blocks, by answer. */
  const reportedBlocks = new Map<string, number>();
  /** The tool of each call that runs. */
  const calls = new Map<string, string>();
  const waiting = new Map<string, () => void>();

  const reportUpdate = (update: ItemUpdate, cursor?: string) =>
    report({ type: "update", update, ...(cursor === undefined ? {} : { cursor }) });

  function onStreamEvent({ event, parent_tool_use_id: parent }: StreamEvent): void {
    if (event.type === "message_start") {
      answers.set(parent, { id: event.message.id, writing: undefined });
      return;
    }
    const answer = answers.get(parent);
    if (!answer) return;
    if (event.type === "content_block_start") {
      const kind = writtenKinds[event.content_block.type];
      answer.writing = kind && { itemId: itemIdOf(answer.id, event.index), kind, text: "" };
      return;
    }
    if (event.type !== "content_block_delta" || !answer.writing) return;
    const text = event.delta.text ?? event.delta.thinking ?? "";
    if (text === "") return;
    const { itemId, kind, text: before } = answer.writing;
    answer.writing.text += text;
    // Text events do not name a sub-agent, so a sub-agent's text is reported when it is complete.
    if (parent === null) report({ type: "text", itemId, kind, offset: before.length, text });
  }

  function onAnswer(message: AssistantMessage): void {
    const { id, content } = message.message;
    const parent = message.parent_tool_use_id;
    for (const [place, block] of content.entries()) {
      const index = reportedBlocks.get(id) ?? 0;
      reportedBlocks.set(id, index + 1);
      const itemId = itemIdOf(id, index);
      const answer = answers.get(parent);
      if (answer?.writing?.itemId === itemId) answer.writing = undefined;
      // The cursor means that the whole message was reported, so only the last block has one.
      const cursor = place === content.length - 1 ? message.uuid : undefined;
      onBlock(block, itemId, parent, parent === null ? cursor : undefined);
    }
  }

  function onBlock(
    block: Block,
    messageId: string,
    parentToolCallId: string | null,
    cursor: string | undefined,
  ): void {
    if (block.type === "tool_use") return onCall(block, parentToolCallId, cursor);
    const text =
      block.type === "text" ? block.text : block.type === "thinking" ? block.thinking : "";
    if (text === "") return;
    const sessionUpdate = block.type === "text" ? "agent_message_chunk" : "agent_thought_chunk";
    const content = { type: "text" as const, text };
    reportUpdate({ sessionUpdate, messageId, content, parentToolCallId }, cursor);
  }

  function onCall(call: ToolUse, parentToolCallId: string | null, cursor?: string): void {
    calls.set(call.id, call.name);
    const entries = planOf(call);
    if (entries) reportUpdate({ sessionUpdate: "plan", entries });
    reportUpdate(
      {
        sessionUpdate: "tool_call",
        toolCallId: call.id,
        title: titleOf(call),
        kind: kindOf(call.name),
        status: "in_progress",
        rawInput: inputOf(call),
        parentToolCallId,
      },
      cursor,
    );
    waiting.get(call.id)?.();
  }

  function onResults(message: ToolResults): void {
    const { content } = message.message;
    if (typeof content === "string") return;
    for (const part of content) {
      // Texts beside results are notes of the program for the model.
      if (!isResult(part)) continue;
      const isCommand = calls.get(part.tool_use_id) === "Bash";
      calls.delete(part.tool_use_id);
      const shown = contentOf(part, message.tool_use_result, directory);
      const exitCode = isCommand ? exitCodeOf(part) : undefined;
      reportUpdate(
        {
          sessionUpdate: "tool_call_update",
          toolCallId: part.tool_use_id,
          status: shown.failed ? "failed" : "completed",
          content: shown.content,
          ...(exitCode !== undefined && { exitCode }),
        },
        message.parent_tool_use_id === null ? message.uuid : undefined,
      );
    }
  }

  return {
    onMessage(message) {
      switch (message.type) {
        case "stream_event":
          return onStreamEvent(message);
        case "assistant":
          // An error becomes the reason of the turn's end.
          return message.error === undefined ? onAnswer(message) : undefined;
        case "user":
          return message.isReplay ? undefined : onResults(message);
        case "result":
          return;
        case "rate_limit_event":
          if (message.rate_limit_info.status === "allowed") return;
          break;
        case "system":
          if (ignored.has(message.subtype)) return;
          if (message.subtype === "compact_boundary") return report({ type: "compacted" });
          break;
        default:
          if (ignored.has((message as { type: string }).type)) return;
      }
      reportUpdate({ sessionUpdate: "unknown", raw: message });
    },
    skip(message) {
      if (message.type === "assistant") {
        const { id, content } = message.message;
        reportedBlocks.set(id, (reportedBlocks.get(id) ?? 0) + content.length);
        for (const block of content) if (block.type === "tool_use") calls.set(block.id, block.name);
      }
      if (message.type !== "user") return;
      const { content } = message.message;
      const results = typeof content === "string" ? [] : content.filter(isResult);
      // The message is a prompt: earlier calls ended with their turn.
      if (results.length === 0) calls.clear();
      for (const { tool_use_id } of results) calls.delete(tool_use_id);
    },
    async whenReported(toolCallId) {
      if (calls.has(toolCallId)) return;
      const isReported = new Promise<void>((resolve) => waiting.set(toolCallId, resolve));
      await within(longestLagMs, isReported);
      waiting.delete(toolCallId);
    },
    isCalling: () => calls.size > 0,
    closeOpenItems(why) {
      for (const [parentToolCallId, { writing }] of answers) {
        if (!writing?.text) continue;
        const { itemId: messageId, kind, text } = writing;
        const sessionUpdate = kind === "message" ? "agent_message_chunk" : "agent_thought_chunk";
        const content = { type: "text" as const, text };
        reportUpdate({ sessionUpdate, messageId, content, parentToolCallId });
      }
      answers.clear();
      for (const toolCallId of calls.keys()) {
        const content = [
          { type: "content" as const, content: { type: "text" as const, text: why } },
        ];
        reportUpdate({ sessionUpdate: "tool_call_update", toolCallId, status: "failed", content });
      }
      calls.clear();
    },
  };
}

const isResult = (part: { type: string }): part is ToolResult => part.type === "tool_result";

const longestLagMs = 1_000;

const writtenKinds: Record<string, Writing["kind"] | undefined> = {
  text: "message",
  thinking: "thought",
};

const itemIdOf = (id: string, index: number) => `${id}.${index}`;

/** Message types and subtypes that sessions do not show. */
const ignored = new Set([
  "init",
  "status",
  "thinking_tokens",
  "api_retry",
  "task_started",
  "task_progress",
  "task_updated",
  "task_notification",
  "hook_started",
  "hook_progress",
  "hook_response",
  "session_state_changed",
  "files_persisted",
  "commands_changed",
  "permission_denied",
  "tool_progress",
  "tool_use_summary",
  "prompt_suggestion",
  "auth_status",
  "keep_alive",
]);
