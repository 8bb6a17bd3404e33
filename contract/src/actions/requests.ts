// Requests of agents: listing and answering them. People answer requests, so agent keys are refused.
import { z } from "zod";
import { action } from "../action.ts";
import { objectTo } from "../exactly-one.ts";
import { InstanceId, RequestId, SessionId } from "../ids.ts";
import { Cursor, NextCursor, SearchText, limit } from "../pages.ts";
import { AnswerOutcome, PermissionAnswer, RequestRecord } from "../records/request.ts";

const Scope = z
  .enum(["pending", "resolved", "all"])
  .meta({ description: "Pending requests, resolved requests, or both.", default: "pending" });

export const requestActions = {
  list_pending_requests: action({
    summary: "List the permissions and questions that agents have raised.",
    group: "requests",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "records",
    pagedBy: "search_requests",
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
    summary: "Allow or refuse an action for which an agent asked permission.",
    details:
      "`once` allows this one action. `always` also stores the rules that the request shows, for this session, if the agent supports it. `reject` refuses it; the turn continues. `status` says if another answer was first.",
    group: "requests",
    permission: "sessions:edit",
    openToGrants: "answer",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: z.strictObject({ requestId: RequestId, answer: PermissionAnswer }),
    result: AnswerOutcome,
    refusals: ["not_found", "wrong_request_type", "host_refused", "account_not_yours"],
    closedToAgents: true,
  }),

  answer_question: action({
    summary: "Answer or dismiss an agent's question.",
    details:
      "Give either `answers`, one list of chosen labels per question in the order asked, or `reject` true.",
    group: "requests",
    permission: "sessions:edit",
    openToGrants: "answer",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: z
      .strictObject({
        requestId: RequestId,
        answers: z
          .array(z.array(z.string()))
          .meta({ description: "For each question, the labels that are chosen." })
          .optional(),
        reject: z.boolean().meta({ description: "True dismisses the question." }).optional(),
      })
      .check((payload) => {
        const { answers, reject } = payload.value;
        if ((answers !== undefined) === (reject === true)) {
          objectTo(
            payload,
            ["answers", "reject"],
            `${answers ? "is one too many" : "is missing"}: send exactly one of answers and reject true`,
          );
        }
      }),
    result: AnswerOutcome,
    refusals: ["not_found", "wrong_request_type", "host_refused", "account_not_yours"],
    closedToAgents: true,
  }),

  get_request: action({
    summary: "Show a request of an agent.",
    group: "reading",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({ requestId: RequestId }),
    result: RequestRecord,
    refusals: ["not_found"],
  }),

  search_requests: action({
    summary: "Page through the requests of agents, the newest first, by text, session or host.",
    details: "A page can be empty: go on until `nextCursor` is null.",
    group: "requests",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      query: SearchText.meta({
        description: "A part of the title, detail or question, in any case.",
      }).optional(),
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
