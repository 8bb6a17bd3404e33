// The threads of a session's sub-agents. Codex tells what they do under their own ids, and lets them go on
// when the agent that made them has answered.
import { unused } from "./cursor.ts";
import type { Item, TokenCount } from "./protocol.ts";

export interface SubAgent {
  /** The tool call that made it. */
  call: string;
  used: TokenCount;
  isRunning: boolean;
  turnId: string | undefined;
}

export interface SubAgents {
  get(threadId: string): SubAgent | undefined;
  /** Codex tells of a sub-agent by the item of the call that makes it. */
  noticeIn(item: Item): void;
  /** Their threads, with the turn each is in. */
  running(): { threadId: string; turnId: string }[];
  stopped(): void;
}

export function openSubAgents(): SubAgents {
  const known = new Map<string, SubAgent>();
  return {
    get: (threadId) => known.get(threadId),
    noticeIn(item) {
      if (item.type !== "collabAgentToolCall") return;
      for (const threadId of item.receiverThreadIds) {
        if (known.has(threadId)) continue;
        known.set(threadId, { call: item.id, used: unused, isRunning: true, turnId: undefined });
      }
    },
    running: () =>
      [...known]
        .filter(([, { isRunning }]) => isRunning)
        .map(([threadId, { turnId = "" }]) => ({ threadId, turnId })),
    stopped() {
      for (const agent of known.values()) agent.isRunning = false;
    },
  };
}
