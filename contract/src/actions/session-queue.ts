// The prompts of a session that wait for an earlier turn. The host has the queue; its log shows every change.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { SessionId } from "../ids.ts";
import { QueueRecord } from "../records/queued-prompt.ts";
import { text } from "../text.ts";

const ofPrompt = {
  sessionId: SessionId,
  messageId: z.string().min(1).meta({ description: "A prompt of list_queued_prompts." }),
};

const changes = {
  group: "queue",
  permission: "sessions:edit",
  openToGrants: "edit",
  effect: "changes",
  reach: "host",
  result: QueueRecord,
  closedToAgents: true,
} as const;

const refusals = ["not_found", "session_ended", "account_not_yours", ...hostRefusals] as const;

export const sessionQueueActions = {
  list_queued_prompts: action({
    summary: "List the prompts of a session that wait for an earlier turn.",
    details: "An ended session has none.",
    group: "queue",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({ sessionId: SessionId }),
    result: QueueRecord,
    refusals: ["not_found", ...hostRefusals],
  }),

  update_queued_prompt: action({
    ...changes,
    summary: "Change the text of a prompt that waits.",
    details:
      "Ends the caller's hold_queued_prompt. The session's log keeps the text of before. Slash commands cannot be changed.",
    idempotent: true,
    input: z.strictObject({
      ...ofPrompt,
      text: text({ min: 1 }).meta({ description: "The new text." }),
      version: z.int().min(0).meta({
        description:
          "The `version` of the queue that the caller read. If somebody has changed the text since, the call is refused.",
      }),
    }),
    refusals: ["prompt_changed", ...refusals],
  }),

  hold_queued_prompt: action({
    ...changes,
    summary: "Keep a prompt that waits from being run while you edit it.",
    details:
      "Holds for 60 seconds; call again to renew it. The prompts behind it wait too. Several users can hold the same prompt.",
    idempotent: true,
    input: z.strictObject({
      ...ofPrompt,
      held: z
        .boolean()
        .meta({ description: "False ends the caller's hold.", default: true })
        .optional(),
    }),
    refusals,
  }),

  move_queued_prompt: action({
    ...changes,
    summary: "Change the place of a prompt in a session's queue.",
    idempotent: true,
    input: z.strictObject({
      ...ofPrompt,
      beforeMessageId: z.string().min(1).nullable().meta({
        description: "The waiting prompt before which it is to run; null: the end.",
      }),
    }),
    refusals,
  }),

  remove_queued_prompt: action({
    ...changes,
    summary: "Remove a prompt that waits.",
    effect: "destroys",
    details: "It is not run. The session's log keeps its text.",
    shownBy: "list_queued_prompts",
    input: z.strictObject(ofPrompt),
    refusals,
  }),

  send_queued_prompt_now: action({
    ...changes,
    summary: "Stop a session's running turn and run a prompt that waits next.",
    details: "The other prompts stay in the queue, in their order. Shell commands run on.",
    shownBy: "list_queued_prompts",
    input: z.strictObject(ofPrompt),
    refusals: ["prompt_held", ...refusals],
  }),
};
