// Requests of agents: a permission or a question that an agent waits for, and its answer.
import { z } from "zod";
import { InstanceId, RequestId, SessionId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { Caller } from "./actor.ts";

export const PermissionAnswer = z.enum(["once", "always", "reject"]).meta({
  description:
    "once: allow this call. always: also store the rules that the request shows. reject: refuse it.",
});
export type PermissionAnswer = z.infer<typeof PermissionAnswer>;

/** What happened to an answer. */
export const AnswerOutcome = z.strictObject({
  status: z.enum(["answered", "already_resolved", "undeliverable"]).meta({
    description:
      "answered: the agent accepted it. already_resolved: another answer was first. undeliverable: stored, but the host could not be reached.",
  }),
});
export type AnswerOutcome = z.infer<typeof AnswerOutcome>;

export const AskedPermission = z.strictObject({
  title: z.string().meta({ description: "What the agent wants to do." }),
  detail: z
    .string()
    .nullable()
    .meta({ description: "The exact command or change, if there is one." }),
  alwaysRules: z.array(z.string()).meta({
    description: "The exact rules that `always` would store; empty if there are none.",
  }),
});
export type AskedPermission = z.infer<typeof AskedPermission>;

export const AskedQuestion = z.strictObject({
  question: z.string().meta({ description: "The question's text." }),
  options: z
    .array(
      z.strictObject({
        label: z.string().meta({ description: "The text to answer with." }),
        description: z.string().nullable().meta({ description: "What the choice means." }),
      }),
    )
    .meta({ description: "The answers to choose from." }),
  multiple: z.boolean().meta({ description: "Whether several labels may be chosen." }),
  freeText: z.boolean().meta({ description: "Whether an answer may be other than a label." }),
});
export type AskedQuestion = z.infer<typeof AskedQuestion>;

export const RequestRecord = z
  .strictObject({
    requestId: RequestId,
    type: z.enum(["permission", "question"]).meta({ description: "What the agent asks for." }),
    sessionId: SessionId,
    instanceId: InstanceId,
    answerable: z.boolean().meta({ description: "Whether an answer can still take effect." }),
    status: z.enum(["pending", "answered", "undeliverable", "withdrawn", "expired"]).meta({
      description:
        "undeliverable: answered, but the host was not reached yet. withdrawn: the agent no longer asks. expired: its turn is over.",
    }),
    permission: AskedPermission.nullable().meta({ description: "Set for a permission." }),
    questions: z.array(AskedQuestion).nullable().meta({ description: "Set for a question." }),
    rule: z.string().nullable().meta({ description: "Why a person is asked, if known." }),
    answer: PermissionAnswer.nullable().meta({
      description: "The stored decision; `reject` also for a dismissed question.",
    }),
    answers: z.array(z.array(z.string())).nullable().meta({ description: "The stored labels." }),
    answeredBy: Caller.nullable().meta({ description: "Null if answered on the host itself." }),
    raisedAt: Instant.meta({ description: "When the agent asked." }),
    resolvedAt: Instant.nullable().meta({ description: "Null while it is pending." }),
  })
  .meta({ id: "Request", description: "A permission or a question raised by an agent." });
export type RequestRecord = z.infer<typeof RequestRecord>;
