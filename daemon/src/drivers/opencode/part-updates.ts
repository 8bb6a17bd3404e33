// Translates the parts of opencode's messages into session updates.
import type { AgentEvent, ItemUpdate } from "../driver.ts";
import type { StepFinishPart, TextPart, ToolPart } from "./frames.ts";
import { contentOf, exitCodeOf, kindOf, planOf, titleOf } from "./tool-calls.ts";

export const textKindOf = ({ type }: TextPart) => (type === "text" ? "message" : "thought");

/** The part must be complete. */
export function textUpdate(part: TextPart, parentToolCallId: string | null): ItemUpdate {
  return {
    sessionUpdate: textKindOf(part) === "message" ? "agent_message_chunk" : "agent_thought_chunk",
    messageId: part.id,
    content: { type: "text", text: part.text },
    parentToolCallId,
  };
}

export function callStarted(part: ToolPart, parentToolCallId: string | null): ItemUpdate {
  return {
    sessionUpdate: "tool_call",
    toolCallId: part.id,
    title: titleOf(part),
    kind: kindOf(part.tool),
    status: "in_progress",
    rawInput: part.state.input,
    parentToolCallId,
  };
}

/** Includes the plan that the call sets; a sub-agent's plan is left out. */
export function callEnded(part: ToolPart, root: { id: string; directory: string }): ItemUpdate[] {
  const isDone = part.state.status === "completed";
  const entries = isDone && part.sessionID === root.id ? planOf(part) : undefined;
  return [
    {
      sessionUpdate: "tool_call_update",
      toolCallId: part.id,
      status: isDone ? "completed" : "failed",
      content: contentOf(part, root.directory),
      ...exitCodeOf(part),
    },
    ...(entries ? [{ sessionUpdate: "plan" as const, entries }] : []),
  ];
}

/** `windowTokens`: the size of the context of the session's own agent; undefined for another or an unknown one. */
export function usageEvent(
  { cost, tokens }: StepFinishPart,
  windowTokens: number | undefined,
): AgentEvent {
  const usage = {
    inputTokens: tokens.input,
    outputTokens: tokens.output + tokens.reasoning,
    cacheReadTokens: tokens.cache.read,
    cacheWriteTokens: tokens.cache.write,
  };
  const usedTokens = Object.values(usage).reduce((sum, count) => sum + count, 0);
  const context = windowTokens ? { context: { usedTokens, windowTokens } } : undefined;
  return { type: "usage", usage, costUsd: cost, costIsEstimate: false, ...context };
}
