// Sessions as a list of them for people shows them: what each does, what it waits for, and what the caller has read.
import { z } from "zod";
import { RequestId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { TurnOutcome } from "../session-log/updates.ts";
import { RequestRecord } from "./request.ts";
import { SessionActivity, SessionListEntry } from "./session.ts";

export const SessionGroup = z
  .enum(["waiting", "running", "idle", "ended"])
  .meta({ description: "waiting: for an answer." });
export type SessionGroup = z.infer<typeof SessionGroup>;

const count = z.int().min(0);

export const SessionCounts = z
  .strictObject({
    waiting: count.max(1_000).meta({ description: "Sessions that wait for an answer." }),
    running: count.max(1_000).meta({ description: "Other sessions at work." }),
    idle: count.max(1_000).meta({ description: "Sessions at rest that accept prompts." }),
    ended: count.max(1_000).meta({ description: "Sessions that are over." }),
  })
  .meta({
    description:
      "The sessions of each group, of `instanceId` if it is given; 1,000 means at least that many. Null without `withCounts`.",
  });
export type SessionCounts = z.infer<typeof SessionCounts>;

export const SessionOverview = SessionListEntry.extend({
  activity: SessionActivity,
  turnStartedAt: Instant.nullable().meta({
    description: "When the running turn, or else the last one, began; null if it is not known.",
  }),
  lastActivityAt: Instant.nullable().meta({
    description:
      "When its state last changed, such as at the end of a turn, by the host's clock; null if it is not known.",
  }),
  lastSeq: count.meta({ description: "`seq` of the newest entry of its log; 0 if there is none." }),
  lastOutcome: TurnOutcome.nullable().meta({
    description: "How the last turn ended; null while a turn runs, and before the first.",
  }),
  lastOutcomeSeq: count.nullable().meta({
    description:
      "The entry that reports `lastOutcome`. A person whose `readSeq` is smaller has not seen it.",
  }),
  openRequestCount: count.max(100).meta({
    description: "Its requests that can be answered; 100 means at least that many.",
  }),
  oldestRequest: z
    .strictObject({
      requestId: RequestId,
      type: RequestRecord.shape.type,
      title: z.string().nullable().meta({
        description: "Its title or first question, at most 200 characters.",
      }),
      raisedAt: Instant.meta({ description: "When the agent asked." }),
    })
    .nullable()
    .meta({ description: "The oldest of these requests; null if there is none." }),
  queuedPrompts: count.meta({ description: "Prompts that wait for the running turn." }),
  readSeq: count.nullable().meta({
    description:
      "How far the caller has read its log, by mark_session_read; null for a key that belongs to no person.",
  }),
  version: z.string().meta({ description: "Differs if get_session_summary shows another record." }),
}).meta({
  id: "SessionOverview",
  description: "A session with what it does, what it waits for, and what the caller has read.",
});
export type SessionOverview = z.infer<typeof SessionOverview>;
