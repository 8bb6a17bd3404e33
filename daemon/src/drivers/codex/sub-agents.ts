// The threads of a session's sub-agents. Codex reports their events with their own thread ids. A sub-agent
// may continue after the agent that started it has answered.
import { unused } from "./cursor.ts";
import type { Item, TokenCount } from "./protocol.ts";

export interface SubAgent {
  /** Tool call that started the sub-agent. */
  call: string;
  used: TokenCount;
  isRunning: boolean;
  turnId: string | undefined;
}

export interface SubAgents {
  get(threadId: string): SubAgent | undefined;
  /** Adds the sub-agents that the item starts. No-op for other items. */
  addFrom(item: Item): void;
  /** Threads of the running sub-agents, with the current turn of each. */
  running(): { threadId: string; turnId: string }[];
  markStopped(): void;
}

export function createSubAgents(): SubAgents {
  const known = new Map<string, SubAgent>();
  return {
    get: (threadId) => known.get(threadId),
    addFrom(item) {
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
    markStopped() {
      for (const agent of known.values()) agent.isRunning = false;
    },
  };
}
