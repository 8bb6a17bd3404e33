// What Claude Code says, told as our events. It knows nothing of processes and turns, so that it reads a
// running program's output and a transcript that was left behind the same way.
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
import { contentOf, inputOf, kindOf, planOf, titleOf } from "./tool-words.ts";

export interface Telling {
  /** Tells a message, if it is one that is shown; others are passed over. */
  take(message: Message): void;
  /** Notes a message that an earlier daemon has told. */
  skip(message: Message): void;
  /** Resolves when the call was told, or after a moment: what is asked about it comes another way. */
  whenTold(toolCallId: string): Promise<unknown>;
  /** Whether a call has no result yet: then it is not the model that is waited for. */
  isCalling(): boolean;
  /** Ends what is still open: the text so far is told, and calls without a result have failed. */
  cut(why: string): void;
}

interface Writing {
  itemId: string;
  kind: "message" | "thought";
  text: string;
}

export function openTelling(directory: string, tell: (event: AgentEvent) => void): Telling {
  /** The answer that is being written, of each agent: the session's own has no parent. */
  const answers = new Map<string | null, { id: string; writing: Writing | undefined }>();
  /** How many blocks of an answer were told. */
  const told = new Map<string, number>();
  const calls = new Set<string>();
  const waiting = new Map<string, () => void>();

  const update = (given: ItemUpdate, cursor?: string) =>
    tell({ type: "update", update: given, ...(cursor === undefined ? {} : { cursor }) });

  function takeStream({ event, parent_tool_use_id: parent }: StreamEvent): void {
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
    // What a sub-agent writes is shown when it is finished: beside the log there is no place for whose it is.
    if (parent === null) tell({ type: "text", itemId, kind, offset: before.length, text });
  }

  function takeAnswer(message: AssistantMessage): void {
    const { id, content } = message.message;
    const parent = message.parent_tool_use_id;
    for (const [place, block] of content.entries()) {
      const index = told.get(id) ?? 0;
      told.set(id, index + 1);
      const itemId = itemIdOf(id, index);
      const answer = answers.get(parent);
      if (answer?.writing?.itemId === itemId) answer.writing = undefined;
      // The cursor says that the whole message was told.
      const cursor = place === content.length - 1 ? message.uuid : undefined;
      takeBlock(block, itemId, parent, parent === null ? cursor : undefined);
    }
  }

  function takeBlock(
    block: Block,
    messageId: string,
    parentToolCallId: string | null,
    cursor: string | undefined,
  ): void {
    if (block.type === "tool_use") return takeCall(block, parentToolCallId, cursor);
    const text =
      block.type === "text" ? block.text : block.type === "thinking" ? block.thinking : "";
    if (text === "") return;
    const sessionUpdate = block.type === "text" ? "agent_message_chunk" : "agent_thought_chunk";
    const content = { type: "text" as const, text };
    update({ sessionUpdate, messageId, content, parentToolCallId }, cursor);
  }

  function takeCall(call: ToolUse, parentToolCallId: string | null, cursor?: string): void {
    calls.add(call.id);
    const entries = planOf(call);
    if (entries) update({ sessionUpdate: "plan", entries });
    update(
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

  function takeResults(message: ToolResults): void {
    const { content } = message.message;
    if (typeof content === "string") return;
    for (const part of content) {
      // Texts beside results are notes of the program to the model.
      if (!isResult(part)) continue;
      calls.delete(part.tool_use_id);
      const shown = contentOf(part, message.tool_use_result, directory);
      update(
        {
          sessionUpdate: "tool_call_update",
          toolCallId: part.tool_use_id,
          status: shown.failed ? "failed" : "completed",
          content: shown.content,
        },
        message.parent_tool_use_id === null ? message.uuid : undefined,
      );
    }
  }

  return {
    take(message) {
      switch (message.type) {
        case "stream_event":
          return takeStream(message);
        case "assistant":
          // An error is told as the reason of the turn's end.
          return message.error === undefined ? takeAnswer(message) : undefined;
        case "user":
          return message.isReplay ? undefined : takeResults(message);
        case "result":
          return;
        case "rate_limit_event":
          if (message.rate_limit_info.status === "allowed") return;
          break;
        case "system":
          if (quiet.has(message.subtype)) return;
          if (message.subtype === "compact_boundary") return tell({ type: "compacted" });
          break;
        default:
          if (quiet.has((message as { type: string }).type)) return;
      }
      update({ sessionUpdate: "unknown", raw: message });
    },
    skip(message) {
      if (message.type === "assistant") {
        const { id, content } = message.message;
        told.set(id, (told.get(id) ?? 0) + content.length);
        for (const block of content) if (block.type === "tool_use") calls.add(block.id);
      }
      if (message.type !== "user") return;
      const { content } = message.message;
      const results = typeof content === "string" ? [] : content.filter(isResult);
      // A prompt: what was open before it has ended with its turn.
      if (results.length === 0) calls.clear();
      for (const { tool_use_id } of results) calls.delete(tool_use_id);
    },
    async whenTold(toolCallId) {
      if (calls.has(toolCallId)) return;
      const told = new Promise<void>((resolve) => waiting.set(toolCallId, resolve));
      await within(longestLagMs, told);
      waiting.delete(toolCallId);
    },
    isCalling: () => calls.size > 0,
    cut(why) {
      for (const [parentToolCallId, { writing }] of answers) {
        if (!writing?.text) continue;
        const { itemId: messageId, kind, text } = writing;
        const sessionUpdate = kind === "message" ? "agent_message_chunk" : "agent_thought_chunk";
        const content = { type: "text" as const, text };
        update({ sessionUpdate, messageId, content, parentToolCallId });
      }
      answers.clear();
      for (const toolCallId of calls) {
        const content = [
          { type: "content" as const, content: { type: "text" as const, text: why } },
        ];
        update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed", content });
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

/** Signs of life that say nothing of their own. */
const quiet = new Set([
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
