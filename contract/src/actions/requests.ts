// What agents asked and wait for: seeing and answering it. A request is answered by people, so
// answering is closed to keys held by agents.
import { z } from "zod";
import { action } from "../action.ts";
import { objectTo } from "../exactly-one.ts";
import { InstanceId, RequestId, SessionId } from "../ids.ts";
import { Cursor, NextCursor, limit } from "../pages.ts";
import { AnswerOutcome, PermissionAnswer, RequestRecord } from "../records/request.ts";

const Scope = z
  .enum(["pending", "resolved", "all"])
  .meta({ description: "Those still open, those settled, or both.", default: "pending" });

export const requestActions = {
  list_pending_requests: action({
    summary: "List the permissions and questions that agents have asked for.",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      sessionId: SessionId.optional(),
      instanceId: InstanceId.optional(),
      scope: Scope.optional(),
      limit: limit({ max: 200, default: 50 }),
    }),
    result: z.strictObject({ requests: z.array(RequestRecord) }),
    refusals: ["not_found"],
  }),

  answer_permission: action({
    summary: "Allow or refuse what an agent asked permission for.",
    details:
      "once allows this one action. always also remembers the rules the request shows, for this session and no wider, where the agent can. reject refuses and lets the turn go on. Losing a race or a host out of reach is told by `status`, not by an error.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    input: z.strictObject({ requestId: RequestId, answer: PermissionAnswer }),
    result: AnswerOutcome,
    refusals: ["not_found", "wrong_request_type", "host_refused"],
    closedToAgents: true,
  }),

  answer_question: action({
    summary: "Answer or dismiss a question an agent asked.",
    details:
      "Give either `answers`, one list of chosen labels per question in the order asked, or `reject` true.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    input: z
      .strictObject({
        requestId: RequestId,
        answers: z.array(z.array(z.string())).optional(),
        reject: z.boolean().meta({ description: "True dismisses the question." }).optional(),
      })
      .check((payload) => {
        const { answers, reject } = payload.value;
        if ((answers !== undefined) === (reject === true)) {
          objectTo(
            payload,
            ["answers", "reject"],
            "is one of answers and reject true, of which exactly one must be given",
          );
        }
      }),
    result: AnswerOutcome,
    refusals: ["not_found", "wrong_request_type", "host_refused"],
    closedToAgents: true,
  }),

  search_requests: action({
    summary: "Page through what agents have asked for, the newest first, by session or host.",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      sessionId: SessionId.optional(),
      instanceId: InstanceId.optional(),
      scope: Scope.optional(),
      cursor: Cursor.optional(),
      limit: limit({ max: 200, default: 50 }),
    }),
    result: z.strictObject({ requests: z.array(RequestRecord), nextCursor: NextCursor }),
    refusals: ["not_found"],
  }),
};
