// Prompts of a session that wait for an earlier turn.
import { z } from "zod";
import { SessionId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { UserReference } from "./actor.ts";

export const QueuedPromptType = z.enum(["prompt", "command", "summarize"]).meta({
  description: "command: a slash command of the agent. summarize: a summary of the session.",
});

const QueuedPrompt = z.strictObject({
  messageId: z.string().meta({ description: "The prompt's message." }),
  turnId: z.string().meta({ description: "The turn that it will begin." }),
  type: QueuedPromptType,
  text: z.string().meta({ description: "Its text; empty for a summary." }),
  isCut: z
    .boolean()
    .meta({ description: "True if `text` is only the beginning: its first 8,192 characters." }),
  by: UserReference.nullable().meta({ description: "Who sent it; null if no user did." }),
  holds: z
    .array(
      z.strictObject({
        by: UserReference.nullable().meta({ description: "Who edits it; null if no user does." }),
        until: Instant.meta({ description: "When the hold ends, by the host's clock." }),
      }),
    )
    .meta({ description: "Those who edit it. It is not run meanwhile." }),
});

export const QueueRecord = z
  .strictObject({
    sessionId: SessionId,
    version: z.int().min(0).meta({
      description:
        "The newest entry of the session's log when the queue was read. Later entries say what has changed since.",
    }),
    prompts: z.array(QueuedPrompt).meta({ description: "In the order in which they run." }),
  })
  .meta({ id: "Queue", description: "The prompts of a session that wait for an earlier turn." });
export type QueueRecord = z.infer<typeof QueueRecord>;
