// What a session's Claude Code asks and waits for.
import { randomUUID } from "node:crypto";
import type { AgentEvent, RequestAnswer } from "../driver.ts";
import { askedOf, resultOf } from "./asked.ts";
import type { AskPermission, PermissionResult } from "./sdk.ts";

export interface Requests {
  ask: AskPermission;
  /** Gives an answer to whoever waits for it; whether somebody did. */
  answer(key: string, answer: RequestAnswer): boolean;
  isEmpty(): boolean;
  /** They are gone without a word, and so is what comes later of the same turn. */
  drop(): void;
}

interface Request {
  tool: string;
  input: Record<string, unknown>;
  resolve(result: PermissionResult): void;
}

interface Hearing {
  tell: (event: AgentEvent) => void;
  /** A question comes another way than the call it is about, and must come after it. */
  whenTold: (toolCallId: string) => Promise<unknown>;
  /** Whether the turn is being stopped. */
  isStopped: () => boolean;
}

export function openRequests({ tell, whenTold, isStopped }: Hearing): Requests {
  const open = new Map<string, Request>();
  return {
    async ask(tool, input, { toolUseID, signal }) {
      await whenTold(toolUseID);
      return new Promise((resolve) => {
        if (signal.aborted || isStopped()) return;
        const key = randomUUID();
        open.set(key, { tool, input, resolve });
        tell({ type: "request", key, asked: askedOf(tool, input), toolCallId: toolUseID });
        signal.addEventListener("abort", () => {
          if (!open.delete(key)) return;
          tell({ type: "request_gone", key, answer: null, reason: "The agent no longer asks it." });
        });
      });
    },
    answer(key, answer) {
      const request = open.get(key);
      if (!request) return false;
      open.delete(key);
      request.resolve(resultOf(request.tool, request.input, answer));
      return true;
    },
    isEmpty: () => open.size === 0,
    drop: () => open.clear(),
  };
}
