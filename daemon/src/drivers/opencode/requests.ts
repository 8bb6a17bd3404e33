// What opencode asks in a session, as far as the policy has not decided it, and the answers it is given.
import type { AgentPolicy } from "@hawser/contract";
import type { RequestAnswer } from "../driver.ts";
import { ApiError, type Api } from "./api.ts";
import type { Tracker } from "./events.ts";
import type { AgentRequest } from "./frames.ts";
import { decide } from "./permission-rules.ts";
import { sendReply } from "./reply.ts";

export interface Requests {
  take(request: AgentRequest): void;
  /** What opencode lists while it works; what it no longer waits for is gone. */
  compare(listed: AgentRequest[]): void;
  answer(key: string, answer: RequestAnswer): Promise<"accepted" | "gone">;
}

const rejected = "The user rejected this. Do not try it in another way; go on without it.";
const refused = "This host's policy refuses it. Go on without it.";

/** opencode does not wait for it any more. */
const isGone = (problem: unknown) => problem instanceof ApiError && problem.status === 404;

export function openRequests(
  api: Api,
  { directory, policy }: { directory: string; policy: AgentPolicy },
  tracker: Tracker,
): Requests {
  const questionCounts = new Map<string, number>();
  /** Answered by the policy. One may come twice: by the stream, and in the list that is read meanwhile. */
  const decided = new Set<string>();

  const reply = (key: string, answer: RequestAnswer, message: string) =>
    sendReply(api, { key, directory, answer, message, questions: questionCounts.get(key) ?? 1 });

  function take(request: AgentRequest): void {
    if ("questions" in request) questionCounts.set(request.id, request.questions.length);
    else {
      const decision = decide(policy, request, directory);
      if (decision !== "ask") {
        if (decided.has(request.id)) return;
        decided.add(request.id);
        const answer = { permission: decision === "allow" ? "once" : "reject" } as const;
        reply(request.id, answer, refused).catch((problem: unknown) => {
          // When it does not arrive, the request is shown like any other.
          if (!isGone(problem)) tracker.asked(request);
        });
        return;
      }
    }
    tracker.asked(request);
  }

  return {
    take,
    compare(listed) {
      // opencode also lists what an aborted turn has asked, for ever.
      const live = listed.filter(
        (request) =>
          tracker.has(request.sessionID) && tracker.callOf(request)?.state.status === "running",
      );
      for (const key of tracker.openRequests()) {
        if (!live.some((request) => request.id === key)) tracker.settled(key, null);
      }
      for (const request of live) take(request);
    },
    async answer(key, answer) {
      if (!tracker.close(key)) return "gone";
      try {
        await reply(key, answer, rejected);
        return "accepted";
      } catch (problem) {
        if (isGone(problem)) return "gone";
        tracker.reopen(key);
        throw problem;
      }
    },
  };
}
