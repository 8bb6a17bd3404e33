// The open requests of a thread: permissions and questions that codex waits for, and their answers.
import { denialText, type Call, type Decision } from "../../policy/call.ts";
import { within } from "../../pause.ts";
import { AgentNotReady, type AgentEvent, type Asked, type RequestAnswer } from "../driver.ts";
import type { AppServer } from "./app-server.ts";
import { readRequest, type CodexRequest } from "./asked.ts";
import type { RequestId } from "./connection.ts";
import type { AllowedCall } from "./hook-calls.ts";
import type { OpenItems } from "./open-items.ts";

export interface OpenRequests {
  /**
   * Answers the request of codex if the policy decides it, reports it otherwise. `parent` is the call that
   * started the sub-agent, `allowed` what was decided about the request's call before.
   */
  onRequest(
    id: RequestId,
    method: string,
    params: Record<string, unknown>,
    parent: string | null,
    allowed: AllowedCall | undefined,
  ): void;
  /** Asks a person about a call that waits at the gate. undefined if the call was dropped or is gone. */
  ask(
    about: { asked: Asked; itemId: string; rule: string },
    gone: AbortSignal,
  ): Promise<RequestAnswer | undefined>;
  answer(key: string, answer: RequestAnswer): Promise<"accepted" | "gone">;
  /** Codex no longer waits: it has received our answer, or the request was settled without us. */
  onResolved(id: RequestId, isStopped: boolean): void;
  /** Drops all open requests and ends their calls, because the turn is being stopped. */
  stop(): void;
  /** Drops all open requests. */
  drop(): void;
  isWaiting(): boolean;
}

interface OpenRequest {
  itemId: string;
  deliver: (answer: RequestAnswer) => Promise<"accepted" | "gone"> | "accepted" | "gone";
  drop?: () => void;
}

interface Context {
  server: AppServer;
  directory: string;
  decide: (call: Call) => Decision;
  items: OpenItems;
  report: (event: AgentEvent) => void;
}

const answerMs = 5_000;

export function createRequests(context: Context): OpenRequests {
  const { server, directory, items, report } = context;
  const open = new Map<string, OpenRequest>();
  /** Answers that codex has not confirmed yet. */
  const unconfirmed = new Map<RequestId, () => void>();
  const keyOf = (id: RequestId) => `${server.startId} ${id}`;

  const reportRequest = (key: string, asked: Asked, itemId: string, rule: string) => {
    const toolCallId = items.isCall(itemId) ? itemId : null;
    report({ type: "request", key, asked, toolCallId, rule });
  };

  const withdraw = (key: string, isStopped: boolean) => {
    if (open.delete(key) && !isStopped)
      report({ type: "request_gone", key, answer: null, reason: null });
  };

  const deliver = async (id: RequestId, request: CodexRequest, answer: RequestAnswer) => {
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
  };

  const dropAll = () => {
    const dropped = [...open.values()];
    open.clear();
    for (const request of dropped) request.drop?.();
  };

  return {
    onRequest(id, method, params, parent, allowed) {
      const itemId = String(params["itemId"]);
      const request = readRequest(method, params, items.changeOf(itemId), directory);
      if (!request) {
        server.refuse(id, "This client does not support the request.");
        report({ type: "update", update: { sessionUpdate: "unknown", raw: { method, params } } });
        return;
      }
      const { asked, call } = request;
      if (allowed && isCovered(call, allowed)) {
        server.answer(id, request.reply({ permission: "once" }));
        return;
      }
      const isKnownQuestion = call.type === "question" && allowed?.call.type === "question";
      const decision = isKnownQuestion ? allowed.decision : context.decide(call);
      if ("questions" in asked) {
        const questions = asked.questions.map((each) => each.question);
        const item = { type: "userInput" as const, id: itemId, questions, answers: null };
        items.started(item, String(params["threadId"]), parent);
      }
      if (decision.answer !== "ask") {
        const permission = decision.answer === "allow" ? "once" : "reject";
        server.answer(id, request.reply("questions" in asked ? { dismiss: true } : { permission }));
        if (decision.answer === "deny") items.refuse(itemId, denialText(decision));
        return;
      }
      const key = keyOf(id);
      open.set(key, { itemId, deliver: (answer) => deliver(id, request, answer) });
      reportRequest(key, asked, itemId, decision.rule);
    },

    ask({ asked, itemId, rule }, gone) {
      const key = `${server.startId} gate ${itemId}`;
      return new Promise((resolve) => {
        open.set(key, {
          itemId,
          deliver(answer) {
            if (gone.aborted) return "gone";
            resolve(answer);
            return "accepted";
          },
          drop: () => resolve(undefined),
        });
        gone.addEventListener("abort", () => {
          if (open.has(key)) items.stop(itemId);
          withdraw(key, false);
          resolve(undefined);
        });
        reportRequest(key, asked, itemId, rule);
      });
    },

    async answer(key, answer) {
      const found = open.get(key);
      if (!found) return "gone";
      open.delete(key);
      return found.deliver(answer);
    },

    onResolved(id, isStopped) {
      unconfirmed.get(id)?.();
      withdraw(keyOf(id), isStopped);
    },

    stop() {
      for (const { itemId } of open.values()) items.stop(itemId);
      dropAll();
    },
    drop: dropAll,
    isWaiting: () => open.size > 0,
  };
}

/** Whether a person has allowed exactly what codex asks about: the same change of the same files. */
function isCovered(call: Call, allowed: AllowedCall): boolean {
  if (call.type !== "edit" || allowed.call.type !== "edit" || !allowed.byPerson) return false;
  const { paths } = allowed.call;
  return call.paths.length > 0 && call.paths.every((path) => paths.includes(path));
}
