// Triggers: the events that start a session, its prompt and target, and the result of the last run.
import { z } from "zod";
import { TriggerId } from "../ids.ts";
import { ScheduleRecord } from "./schedule.ts";

export const TriggerSource = z.enum(["github", "json"]).meta({
  description: "github: its webhooks. json: any Standard Webhooks.",
});
export type TriggerSource = z.infer<typeof TriggerSource>;

/** Events of GitHub. */
export const TriggerEvent = z.enum([
  "issue_opened",
  "issue_labeled",
  "comment",
  "review",
  "check_failed",
]);
export type TriggerEvent = z.infer<typeof TriggerEvent>;

export const TriggerRecord = z
  .strictObject({
    triggerId: TriggerId,
    source: TriggerSource,
    events: z
      .array(TriggerEvent)
      .meta({ description: "Events that start a run; empty for json, where every one does." }),
    commandWord: z
      .string()
      .nullable()
      .meta({ description: "How a line of a comment must begin; null for json." }),
    address: z.string().meta({ description: "Where the sender posts events." }),
    // All that a trigger has in common with a schedule.
    ...ScheduleRecord.omit({
      scheduleId: true,
      frequency: true,
      startAt: true,
      nextRunAt: true,
      status: true,
    }).shape,
  })
  .meta({ id: "Trigger", description: "A prompt that starts a new session for each event." });
export type TriggerRecord = z.infer<typeof TriggerRecord>;
