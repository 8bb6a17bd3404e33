// Counts tokens and cost of a Claude Code process. The process reports totals since its start, so the
// difference to the previous totals is computed here.
import type { Usage } from "@hawser/contract";
import type { AgentEvent } from "../driver.ts";
import type { ApiUsage, Message, Result } from "./messages.ts";

export interface Meter {
  /** Usage since the previous result; undefined if there is none. */
  read(result: Result): Extract<AgentEvent, { type: "usage" }> | undefined;
  /** Counts the model's answers, for a turn that ends without a result. */
  note(message: Message): void;
  /** Usage of a turn that ended without a result: tokens only, the cost is unknown. */
  readWithoutResult(): Extract<AgentEvent, { type: "usage" }> | undefined;
}

const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

export function createMeter(): Meter {
  let total: Usage = none;
  let totalCost = 0;
  let sinceResult: Usage = none;
  /** The newest call of the session's own agent. */
  let model: string | undefined;
  let newest: ApiUsage = {};
  const windows: Record<string, number | undefined> = {};

  const eventOf = (usage: Usage, costUsd: number | null) =>
    Object.values(usage).some((count) => count > 0)
      ? { type: "usage" as const, usage, costUsd, costIsEstimate: false, ...contextNow() }
      : undefined;

  /** Claude Code reports the size of each model's context with the result. */
  const contextNow = () => {
    const windowTokens = model === undefined ? undefined : windows[model];
    const usedTokens = Object.values(tokensOf(newest)).reduce((sum, count) => sum + count, 0);
    return windowTokens && usedTokens > 0 ? { context: { usedTokens, windowTokens } } : undefined;
  };

  return {
    read({ modelUsage = {}, total_cost_usd: cost }) {
      for (const [name, { contextWindow }] of Object.entries(modelUsage)) {
        // `[1m]` marks a model with its larger context; the model's answers name it without the mark.
        windows[name.replace(/\[\w+\]$/, "")] = contextWindow;
      }
      const now = Object.values(modelUsage).reduce(
        (sum: Usage, used) =>
          add(sum, {
            inputTokens: used.inputTokens,
            outputTokens: used.outputTokens,
            cacheReadTokens: used.cacheReadInputTokens,
            cacheWriteTokens: used.cacheCreationInputTokens,
          }),
        none,
      );
      const event = eventOf(subtract(now, total), Math.max(0, cost - totalCost));
      total = now;
      totalCost = cost;
      sinceResult = none;
      return event;
    },
    note(message) {
      if (message.type !== "stream_event") return;
      const { event, parent_tool_use_id: parent } = message;
      if (event.type === "message_start" && parent === null) {
        model = event.message.model;
        newest = { ...event.message.usage };
      }
      if (event.type !== "message_delta") return;
      const { usage = {} } = event;
      sinceResult = add(sinceResult, tokensOf(usage));
      // The counts of a call grow while it runs.
      if (parent === null) newest = { ...newest, ...usage };
    },
    readWithoutResult: () => eventOf(sinceResult, null),
  };
}

const tokensOf = (usage: ApiUsage): Usage => ({
  inputTokens: usage.input_tokens ?? 0,
  outputTokens: usage.output_tokens ?? 0,
  cacheReadTokens: usage.cache_read_input_tokens ?? 0,
  cacheWriteTokens: usage.cache_creation_input_tokens ?? 0,
});

const names = Object.keys(none) as (keyof Usage)[];

const combine = (a: Usage, b: Usage, join: (x: number, y: number) => number): Usage =>
  Object.fromEntries(names.map((name) => [name, join(a[name], b[name])])) as Usage;

const add = (a: Usage, b: Usage) => combine(a, b, (x, y) => x + y);
const subtract = (a: Usage, b: Usage) => combine(a, b, (x, y) => Math.max(0, x - y));
