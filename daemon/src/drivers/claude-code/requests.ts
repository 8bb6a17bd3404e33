// The open requests of one Claude Code session.
import { randomUUID } from "node:crypto";
import type { AgentEvent, RequestAnswer } from "../driver.ts";
import { askedOf, resultOf } from "./asked.ts";
import type { AskPermission, PermissionResult } from "./sdk.ts";

export interface Requests {
  ask: AskPermission;
  /** Answers an open request. Returns false if it is no longer open. */
  answer(key: string, answer: RequestAnswer): boolean;
  isEmpty(): boolean;
  /** Drops all open requests without reporting it. */
  drop(): void;
}

interface Request {
  tool: string;
  input: Record<string, unknown>;
  resolve(result: PermissionResult): void;
}

interface Context {
  report: (event: AgentEvent) => void;
  /** Resolves when a tool call was reported: its request must be reported after it. */
  whenReported: (toolCallId: string) => Promise<unknown>;
  /** Whether the turn is being stopped. */
  isStopped: () => boolean;
}

export function createRequests({ report, whenReported, isStopped }: Context): Requests {
  const open = new Map<string, Request>();
  return {
    async ask(tool, input, { toolUseID, signal }) {
      await whenReported(toolUseID);
      return new Promise((resolve) => {
        if (signal.aborted || isStopped()) return;
        const key = randomUUID();
        open.set(key, { tool, input, resolve });
        report({ type: "request", key, asked: askedOf(tool, input), toolCallId: toolUseID });
        signal.addEventListener("abort", () => {
          if (!open.delete(key)) return;
          const reason = "The agent withdrew the request.";
          report({ type: "request_gone", key, answer: null, reason });
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
