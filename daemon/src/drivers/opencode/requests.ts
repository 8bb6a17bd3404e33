// The requests of one opencode session: the policy answers some of them, people the others.
import type { AgentPolicy } from "@hawser/contract";
import type { RequestAnswer } from "../driver.ts";
import { ApiError, type Api } from "./api.ts";
import type { Tracker } from "./events.ts";
import type { AgentRequest } from "./frames.ts";
import { decide } from "./permission-rules.ts";
import { sendReply } from "./reply.ts";

export interface Requests {
  onRequest(request: AgentRequest): void;
  /** Compares the open requests with those that opencode lists: reports new ones, closes missing ones. */
  compare(listed: AgentRequest[]): void;
  answer(key: string, answer: RequestAnswer): Promise<"accepted" | "gone">;
}

const rejected = "The user rejected this. Do not try it in another way; go on without it.";
const refused = "This host's policy refuses it. Go on without it.";

/** opencode no longer waits for an answer. */
const isGone = (problem: unknown) => problem instanceof ApiError && problem.status === 404;

export function createRequests(
  api: Api,
  { directory, policy }: { directory: string; policy: AgentPolicy },
  tracker: Tracker,
): Requests {
  const questionCounts = new Map<string, number>();
  /** Requests answered by the policy. One may arrive twice: in the stream and in a list read meanwhile. */
  const decided = new Set<string>();

  const reply = (key: string, answer: RequestAnswer, message: string) =>
    sendReply(api, { key, directory, answer, message, questions: questionCounts.get(key) ?? 1 });

  function onRequest(request: AgentRequest): void {
    if ("questions" in request) questionCounts.set(request.id, request.questions.length);
    else {
      const decision = decide(policy, request, directory);
      if (decision !== "ask") {
        if (decided.has(request.id)) return;
        decided.add(request.id);
        const answer = { permission: decision === "allow" ? "once" : "reject" } as const;
        reply(request.id, answer, refused).catch((problem: unknown) => {
          // A person is asked if the policy's answer could not be delivered.
          if (!isGone(problem)) tracker.addRequest(request);
        });
        return;
      }
    }
    tracker.addRequest(request);
  }

  return {
    onRequest,
    compare(listed) {
      // opencode keeps listing the requests of aborted turns.
      const live = listed.filter(
        (request) =>
          tracker.has(request.sessionID) && tracker.callOf(request)?.state.status === "running",
      );
      for (const key of tracker.openRequests()) {
        if (!live.some((request) => request.id === key)) tracker.settleRequest(key, null);
      }
      for (const request of live) onRequest(request);
    },
    async answer(key, answer) {
      if (!tracker.closeRequest(key)) return "gone";
      try {
        await reply(key, answer, rejected);
        return "accepted";
      } catch (problem) {
        if (isGone(problem)) return "gone";
        tracker.reopenRequest(key);
        throw problem;
      }
    },
  };
}
