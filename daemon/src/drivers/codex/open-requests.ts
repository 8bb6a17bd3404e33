// What codex waits for: approvals and questions that are open, who decides them, and the answers.
import type { AgentPolicy } from "@hawser/contract";
import { within } from "../../pause.ts";
import { AgentNotReady, type AgentEvent, type RequestAnswer } from "../driver.ts";
import type { AppServer } from "./app-server.ts";
import { questionOf, type Question } from "./asked.ts";
import type { RequestId } from "./connection.ts";
import type { OpenItems } from "./open-items.ts";

export interface OpenRequests {
  /** Answers what the policy decides, tells the rest. `parent` is the call that a sub-agent works for. */
  ask(id: RequestId, method: string, params: Record<string, unknown>, parent: string | null): void;
  answer(key: string, answer: RequestAnswer): Promise<"accepted" | "gone">;
  /** Codex waits no more: it took our answer, or it was settled without us. */
  resolved(id: RequestId, isStopped: boolean): void;
  /** The turn is being stopped: the calls that waited end, and no answer reaches them. */
  stop(): void;
  forget(): void;
  isWaiting(): boolean;
}

interface Surroundings {
  server: AppServer;
  directory: string;
  policy: AgentPolicy;
  items: OpenItems;
  tell: (event: AgentEvent) => void;
}

const answerMs = 5_000;

export function openRequests(around: Surroundings): OpenRequests {
  const { server, directory, policy, items, tell } = around;
  const open = new Map<string, { id: RequestId; question: Question }>();
  /** Answers that codex has not confirmed yet. */
  const given = new Map<RequestId, () => void>();

  return {
    ask(id, method, params, parent) {
      const itemId = String(params["itemId"]);
      const question = questionOf(method, params, items.changeOf(itemId), { directory, policy });
      if (!question) {
        server.refuse(id, "This client has no answer to that.");
        tell({ type: "update", update: { sessionUpdate: "unknown", raw: { method, params } } });
        return;
      }
      if (question.decided) {
        server.answer(id, question.reply(question.decided));
        return;
      }
      if ("questions" in question.asked) {
        const questions = question.asked.questions.map((each) => each.question);
        const item = { type: "userInput" as const, id: itemId, questions, answers: null };
        items.started(item, String(params["threadId"]), parent);
      }
      const key = `${server.startId} ${id}`;
      open.set(key, { id, question });
      const toolCallId = items.isCall(itemId) ? itemId : null;
      tell({ type: "request", key, asked: question.asked, toolCallId });
    },

    async answer(key, answer) {
      const request = open.get(key);
      if (!request) return "gone";
      open.delete(key);
      const { id, question } = request;
      const confirmed = Promise.withResolvers<void>();
      given.set(id, confirmed.resolve);
      try {
        if (!server.answer(id, question.reply(answer))) return "gone";
        const isTaken = await within(answerMs, Promise.race([confirmed.promise, server.ended]));
        if (server.hasEnded()) return "gone";
        items.answered(question.itemId, "answers" in answer ? answer.answers : null);
        if (!isTaken) throw new AgentNotReady("Codex did not confirm the answer.");
        return "accepted";
      } finally {
        given.delete(id);
      }
    },

    resolved(id, isStopped) {
      given.get(id)?.();
      for (const [key, request] of open) {
        if (request.id !== id) continue;
        open.delete(key);
        if (!isStopped) tell({ type: "request_gone", key, answer: null, reason: null });
      }
    },

    stop() {
      for (const { question } of open.values()) items.stopped(question.itemId);
      open.clear();
    },
    forget: () => open.clear(),
    isWaiting: () => open.size > 0,
  };
}
