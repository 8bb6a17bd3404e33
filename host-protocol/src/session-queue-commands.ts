// Commands about the prompts of a session that wait for an earlier turn.
import { Instant, QueuedPromptType, SessionId, UserId } from "@hawser/contract";
import { z } from "zod";
import type { CommandKind } from "./command-kind.ts";
import { OwnerId } from "./identity-commands.ts";

const ofPrompt = {
  sessionId: SessionId,
  messageId: z.string(),
  /** Who changes it; null or undefined if no person does. */
  ownerId: OwnerId.nullable().optional(),
};

const HostQueue = z.strictObject({
  /** The newest entry of the session's log. */
  version: z.int().min(0),
  prompts: z.array(
    z.strictObject({
      messageId: z.string(),
      turnId: z.string(),
      type: QueuedPromptType,
      text: z.string(),
      /** Whether the text is only the beginning. */
      isCut: z.boolean(),
      by: UserId.nullable(),
      holds: z.array(z.strictObject({ by: UserId.nullable(), until: Instant })),
    }),
  ),
});
export type HostQueue = z.infer<typeof HostQueue>;

const changed = { effect: "changes", result: HostQueue, deadlineMs: 5_000 } as const;

export const sessionQueueCommands = {
  list_queued_prompts: {
    effect: "reads",
    payload: z.strictObject({ sessionId: SessionId }),
    result: HostQueue,
    deadlineMs: 5_000,
    refusals: ["not_found"],
  },
  update_queued_prompt: {
    ...changed,
    /** Refused if the text was changed after this version of the queue. */
    payload: z.strictObject({ ...ofPrompt, text: z.string(), version: z.int().min(0) }),
    refusals: [
      "not_found",
      "invalid_input",
      "prompt_changed",
      "session_ended",
      "account_not_yours",
    ],
  },
  /** The prompt is not run for a minute, unless its holder ends that. */
  hold_queued_prompt: {
    ...changed,
    payload: z.strictObject({ ...ofPrompt, held: z.boolean() }),
    refusals: ["not_found", "session_ended", "account_not_yours"],
  },
  move_queued_prompt: {
    ...changed,
    /** null: to the end. */
    payload: z.strictObject({ ...ofPrompt, beforeMessageId: z.string().nullable() }),
    refusals: ["not_found", "session_ended", "account_not_yours"],
  },
  remove_queued_prompt: {
    ...changed,
    payload: z.strictObject(ofPrompt),
    refusals: ["not_found", "session_ended", "account_not_yours"],
  },
  /** Answered when it is recorded that the running turn is stopped. */
  send_queued_prompt_now: {
    ...changed,
    payload: z.strictObject(ofPrompt),
    refusals: ["not_found", "prompt_held", "session_ended", "account_not_yours"],
  },
} as const satisfies Record<string, CommandKind>;
