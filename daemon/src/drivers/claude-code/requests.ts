// The open requests of one Claude Code session.
import { randomUUID } from "node:crypto";
import type { AgentEvent, RequestAnswer } from "../driver.ts";
import { askedOf, resultOf, type Wanted } from "./asked.ts";
import type { AskPermission, PermissionResult } from "./sdk.ts";

export interface Requests {
  /** Reports a request and waits for its answer. */
  ask(wanted: Wanted, about: Parameters<AskPermission>[2]): Promise<PermissionResult>;
  /** Answers an open request. Returns false if it is no longer open. */
  answer(key: string, answer: RequestAnswer): boolean;
  isEmpty(): boolean;
  /** Drops all open requests without reporting it. */
  drop(): void;
}

interface Request extends Wanted {
  resolve(result: PermissionResult): void;
}

interface Context {
  report: (event: AgentEvent) => void;
  /** Whether the turn is being stopped. */
  isStopped: () => boolean;
}

export function createRequests({ report, isStopped }: Context): Requests {
  const open = new Map<string, Request>();
  return {
    ask(wanted, { toolUseID, signal }) {
      return new Promise((resolve) => {
        if (signal.aborted || isStopped()) return;
        const key = randomUUID();
        open.set(key, { ...wanted, resolve });
        const { rule } = wanted;
        report({ type: "request", key, asked: askedOf(wanted), toolCallId: toolUseID, rule });
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
