// Sessions as callers see them: the record, its shorter form in lists, the summary with the present
// state on the host, and changed files.
import { z } from "zod";
import { InstanceId, SessionId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { text } from "../text.ts";
import { Starter } from "./actor.ts";
import { AgentKind, Capability, ModelChoice } from "./agent-kind.ts";
import { SessionMode } from "./session-mode.ts";

export const SessionStatus = z.enum(["active", "detached", "error", "ended", "cleanup_failed"]);
export type SessionStatus = z.infer<typeof SessionStatus>;

const count = z.int().min(0);

/** Tokens a session has used. */
export const Usage = z.strictObject({
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
});
export type Usage = z.infer<typeof Usage>;

const listed = {
  sessionId: SessionId,
  instanceId: InstanceId,
  title: text({ max: 200 })
    .nullable()
    .meta({ description: "Null until the caller or the agent has set one." }),
  agentKind: AgentKind.meta({ description: "The kind that runs it, after fallback." }),
  directory: z
    .string()
    .nullable()
    .meta({ description: "Its directory; null until a clone is complete." }),
  worktreeBranch: z
    .string()
    .nullable()
    .meta({ description: "The branch of its own worktree; null if it has none." }),
  status: SessionStatus,
  statusReason: z
    .string()
    .nullable()
    .meta({ description: "Why it has this status, if no caller caused it." }),
  reachable: z.boolean().meta({ description: "Whether its host is connected." }),
  cost: z.number().min(0).nullable().meta({ description: "US dollars so far; null if unknown." }),
  costIsEstimate: z
    .boolean()
    .meta({ description: "True if computed from a price table instead of reported by the agent." }),
  startedBy: Starter,
  forkedFrom: SessionId.nullable().meta({ description: "The session it was forked from." }),
  createdAt: Instant,
  endedAt: Instant.nullable(),
};

const recorded = {
  ...listed,
  mode: SessionMode,
  model: ModelChoice.nullable(),
  usage: Usage.nullable(),
  capabilities: z.array(Capability),
};

export const SessionListEntry = z
  .strictObject(listed)
  .meta({ id: "SessionListEntry", description: "A session, as lists show it." });
export type SessionListEntry = z.infer<typeof SessionListEntry>;

export const SessionRecord = z
  .strictObject(recorded)
  .meta({ id: "Session", description: "An agent at work in a directory of a host." });
export type SessionRecord = z.infer<typeof SessionRecord>;

/** Present state of a session on its host. */
export const LiveSession = z.strictObject({
  title: z.string().nullable(),
  status: z.enum(["starting", "idle", "running", "waiting", "stopped"]).meta({
    description: "`waiting`: for an answer. `stopped`: no agent process serves it.",
  }),
  model: ModelChoice.nullable(),
  usage: Usage.nullable(),
});
export type LiveSession = z.infer<typeof LiveSession>;

export const SessionSummary = z
  .strictObject({
    ...recorded,
    live: LiveSession.nullable().meta({ description: "Null while the host is not connected." }),
  })
  .meta({ id: "SessionSummary", description: "A session with its present state on the host." });
export type SessionSummary = z.infer<typeof SessionSummary>;

/** What a session's agent is doing, according to its log. */
export const SessionActivity = z.enum(["starting", "idle", "running", "waiting"]).meta({
  description: "`waiting` for an answer to a request.",
});
export type SessionActivity = z.infer<typeof SessionActivity>;

export const SessionEvent = z
  .strictObject({
    seq: z.int().min(1).meta({ description: "1, 2, 3 … in each session." }),
    at: Instant,
    turnId: z.string().nullable().meta({ description: "The turn it belongs to." }),
    update: z.record(z.string(), z.unknown()).meta({
      description:
        "What happened; `sessionUpdate` names it, in terms of the Agent Client Protocol.",
    }),
  })
  .meta({ id: "SessionEvent", description: "An entry of a session's log." });
export type SessionEvent = z.infer<typeof SessionEvent>;

export const FileChange = z
  .strictObject({
    path: z.string().meta({ description: "Relative to the session's working directory." }),
    added: count.meta({ description: "Lines added; 0 for a binary file." }),
    removed: count.meta({ description: "Lines removed; 0 for a binary file." }),
  })
  .meta({ id: "FileChange", description: "A file changed by a session." });
export type FileChange = z.infer<typeof FileChange>;

export const ParkedSession = z
  .strictObject({
    sessionId: SessionId,
    title: z.string().nullable(),
    branch: z.string().nullable().meta({ description: "Null for a session in a clone." }),
    parkedAt: Instant,
    sizeBytes: count.meta({ description: "Size on the host's disk." }),
    expiresAt: Instant.meta({
      description: "The host may remove it earlier, if its limit is reached.",
    }),
  })
  .meta({
    id: "ParkedSession",
    description: "An ended session whose worktree or clone the host has parked.",
  });
export type ParkedSession = z.infer<typeof ParkedSession>;
