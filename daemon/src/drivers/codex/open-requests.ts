// The open requests of a thread: permissions and questions that codex waits for, and their answers.
import type { AgentPolicy } from "@hawser/contract";
import { within } from "../../pause.ts";
import { AgentNotReady, type AgentEvent, type RequestAnswer } from "../driver.ts";
import type { AppServer } from "./app-server.ts";
import { readRequest, type CodexRequest } from "./asked.ts";
import type { RequestId } from "./connection.ts";
import type { OpenItems } from "./open-items.ts";

export interface OpenRequests {
  /**
   * Answers the request if the policy decides it, reports it otherwise. `parent` is the call that started
   * the sub-agent.
   */
  onRequest(
    id: RequestId,
    method: string,
    params: Record<string, unknown>,
    parent: string | null,
  ): void;
  answer(key: string, answer: RequestAnswer): Promise<"accepted" | "gone">;
  /** Codex no longer waits: it has received our answer, or the request was settled without us. */
  onResolved(id: RequestId, isStopped: boolean): void;
  /** Drops all open requests and ends their calls, because the turn is being stopped. */
  stop(): void;
  /** Drops all open requests. */
  drop(): void;
  isWaiting(): boolean;
}

interface Context {
  server: AppServer;
  directory: string;
  policy: AgentPolicy;
  items: OpenItems;
  report: (event: AgentEvent) => void;
}

const answerMs = 5_000;

export function createRequests(context: Context): OpenRequests {
  const { server, directory, policy, items, report } = context;
  const open = new Map<string, { id: RequestId; request: CodexRequest }>();
  /** Answers that codex has not confirmed yet. */
  const unconfirmed = new Map<RequestId, () => void>();

  return {
    onRequest(id, method, params, parent) {
      const itemId = String(params["itemId"]);
      const request = readRequest(method, params, items.changeOf(itemId), { directory, policy });
      if (!request) {
        server.refuse(id, "This client does not support the request.");
        report({ type: "update", update: { sessionUpdate: "unknown", raw: { method, params } } });
        return;
      }
      if (request.decided) {
        server.answer(id, request.reply(request.decided));
        return;
      }
      if ("questions" in request.asked) {
        const questions = request.asked.questions.map((each) => each.question);
        const item = { type: "userInput" as const, id: itemId, questions, answers: null };
        items.started(item, String(params["threadId"]), parent);
      }
      const key = `${server.startId} ${id}`;
      open.set(key, { id, request });
      const toolCallId = items.isCall(itemId) ? itemId : null;
      report({ type: "request", key, asked: request.asked, toolCallId });
    },

    async answer(key, answer) {
      const found = open.get(key);
      if (!found) return "gone";
      open.delete(key);
      const { id, request } = found;
      const confirmed = Promise.withResolvers<void>();
      unconfirmed.set(id, confirmed.resolve);
      try {
        if (!server.answer(id, request.reply(answer))) return "gone";
        const isConfirmed = await within(answerMs, Promise.race([confirmed.promise, server.ended]));
        if (server.hasEnded()) return "gone";
        items.answer(request.itemId, "answers" in answer ? answer.answers : null);
        if (!isConfirmed) throw new AgentNotReady("Codex did not confirm the answer.");
        return "accepted";
      } finally {
        unconfirmed.delete(id);
      }
    },

    onResolved(id, isStopped) {
      unconfirmed.get(id)?.();
      for (const [key, each] of open) {
        if (each.id !== id) continue;
        open.delete(key);
        if (!isStopped) report({ type: "request_gone", key, answer: null, reason: null });
      }
    },

    stop() {
      for (const { request } of open.values()) items.stop(request.itemId);
      open.clear();
    },
    drop: () => open.clear(),
    isWaiting: () => open.size > 0,
  };
}
