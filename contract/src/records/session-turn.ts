// Turns of a session, as its log shows them.
import { z } from "zod";
import { Instant } from "../moments.ts";
import { UserReference } from "./actor.ts";
import { TurnOutcome } from "../session-log/updates.ts";

const seq = z.int().min(1);

export const TurnRecord = z
  .strictObject({
    turnId: z.string().meta({ description: "The turn, as the session's log names it." }),
    messageId: z
      .string()
      .nullable()
      .meta({ description: "The prompt's message; pass it to revert_session." }),
    firstSeq: seq.meta({ description: "The entry with which it began." }),
    lastSeq: seq.nullable().meta({
      description: "The entry with which it ended; null while it runs, or if that is not known.",
    }),
    prompt: z.string().nullable().meta({
      description: "The prompt's first 200 characters; null if the turn is a command.",
    }),
    by: UserReference.nullable().meta({
      description: "Who sent the prompt; null if no user did, or if it is not known.",
    }),
    startedAt: Instant.meta({ description: "When it began, by the host's clock." }),
    outcome: TurnOutcome.nullable().meta({ description: "Null as `lastSeq` is." }),
    costUsd: z.number().min(0).nullable().meta({ description: "US dollars; null if unknown." }),
  })
  .meta({ id: "Turn", description: "The work on one accepted prompt." });
export type TurnRecord = z.infer<typeof TurnRecord>;
