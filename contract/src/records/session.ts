// Sessions as callers see them: the record, its shorter form in lists, the summary with the present
// state on the host, and changed files.
import { z } from "zod";
import { InstanceId, SessionId } from "../ids.ts";
import { CreatedAt, Instant } from "../moments.ts";
import { text } from "../text.ts";
import { Starter, UserReference } from "./actor.ts";
import { AgentKind, Capability, Fallback, ModelChoice } from "./agent-kind.ts";
import { SessionMode } from "./session-mode.ts";
import { TrustedPart } from "./trusted-repository.ts";

export const SessionStatus = z
  .enum(["active", "detached", "error", "ended", "cleanup_failed"])
  .meta({
    description:
      "active, or detached until the next prompt: usable. error: `statusReason` says why. ended: over. cleanup_failed: over, its files are still on the host.",
  });
export type SessionStatus = z.infer<typeof SessionStatus>;

const count = z.int().min(0);

/** Tokens a session has used. */
export const Usage = z
  .strictObject({
    inputTokens: count.meta({ description: "Tokens read by the model." }),
    outputTokens: count.meta({ description: "Tokens written by the model." }),
    cacheReadTokens: count.meta({ description: "Tokens read from the provider's cache." }),
    cacheWriteTokens: count.meta({ description: "Tokens written to the provider's cache." }),
  })
  .meta({ description: "Tokens used so far." });
export type Usage = z.infer<typeof Usage>;

/** What became of a turn that failed because a quota was used up, if the organization has such turns continued. */
export const Continuation = z.strictObject({
  turnId: z.string().meta({ description: "The turn that failed." }),
  sessionId: SessionId.nullable().meta({ description: "The fork that continues it." }),
  problem: z.string().nullable().meta({ description: "Why it is not continued." }),
});
export type Continuation = z.infer<typeof Continuation>;

/** Why a session has its status, and whether its host can change that now. */
export const statusReason = {
  statusReason: z.string().nullable().meta({
    description: "Why it has this status, as a stable word; null if a caller caused it.",
  }),
  statusMessage: z
    .string()
    .nullable()
    .meta({ description: "The same as a sentence, if there is one." }),
  reachable: z.boolean().meta({ description: "Whether its host is connected." }),
};

const listed = {
  sessionId: SessionId,
  instanceId: InstanceId,
  title: text({ max: 200 })
    .nullable()
    .meta({ description: "Null until the caller or the agent has set one." }),
  agentKind: AgentKind.meta({ description: "The kind that runs it, after fallback." }),
  directory: z.string().nullable().meta({
    description:
      "The directory it was started in; null until a clone is complete. Its agent works in a worktree of it if `worktreeBranch` is set.",
  }),
  worktreeBranch: z
    .string()
    .nullable()
    .meta({ description: "The branch of its own worktree; null if it has none." }),
  status: SessionStatus,
  ...statusReason,
  cost: z.number().min(0).nullable().meta({ description: "US dollars so far; null if unknown." }),
  costIsEstimate: z
    .boolean()
    .meta({ description: "True if computed from a price table instead of reported by the agent." }),
  startedBy: Starter,
  forkedFrom: SessionId.nullable().meta({ description: "The session it was forked from." }),
  createdAt: CreatedAt,
  endedAt: Instant.nullable().meta({ description: "Null while it has not ended." }),
};

const recorded = {
  ...listed,
  mode: SessionMode,
  model: ModelChoice.nullable(),
  usage: Usage.nullable(),
  capabilities: z.array(Capability).meta({ description: "What its agent can do beside prompts." }),
  fallback: Fallback.nullable().meta({
    description: "Why it runs with another kind than the preferred one; null if it does not.",
  }),
  trustedParts: z.array(TrustedPart).meta({
    description:
      "Parts of the repository's own configuration that its agent uses, because the organization trusts them.",
  }),
  accountOf: UserReference.nullable().meta({
    description: "Whose agent account it uses; null: the host's own.",
  }),
  sharedWith: z.array(UserReference).nullable().meta({
    description: "Members who may prompt it besides the owner of its account; null: every member.",
  }),
  continuation: Continuation.nullable().meta({
    description:
      "What became of a turn that a used-up quota ended; null if there is none, or it is not decided yet. Only one turn of a session is continued.",
  }),
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
  title: z.string().nullable().meta({ description: "The title on the host." }),
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

/** What a session is doing, according to its log. */
export const SessionActivity = z.enum(["starting", "idle", "running", "waiting", "unknown"]).meta({
  description:
    "running: a turn or a shell command. waiting: for an answer to a request. unknown: it was at work when its host's connection was lost.",
});
export type SessionActivity = z.infer<typeof SessionActivity>;

export const SessionEvent = z
  .strictObject({
    seq: z.int().min(1).meta({ description: "1, 2, 3 … in each session." }),
    at: Instant.meta({ description: "When it happened, by the host's clock." }),
    turnId: z.string().nullable().meta({ description: "The turn it belongs to." }),
    update: z.record(z.string(), z.unknown()).meta({
      description:
        "What happened. `sessionUpdate` is the type of the entry, in terms of the Agent Client Protocol where it has one; docs/reference/log-entries.md and SessionUpdate in the OpenAPI document list the types. New types can be added.",
    }),
  })
  .meta({ id: "SessionEvent", description: "An entry of a session's log." });
export type SessionEvent = z.infer<typeof SessionEvent>;

/** The text of a message, from its beginning. */
export const AgentMessage = z.strictObject({
  seq: z.int().min(1).meta({ description: "Its entry in the log." }),
  text: z.string().meta({ description: "At most 4,000 characters." }),
  isCut: z.boolean().meta({
    description: "True if the text is longer; list_session_events has the whole, after `seq` - 1.",
  }),
});
export type AgentMessage = z.infer<typeof AgentMessage>;

export const FileChange = z
  .strictObject({
    path: z.string().meta({ description: "Relative to the session's working directory." }),
    added: count.meta({ description: "Lines added; 0 for a binary file." }),
    removed: count.meta({ description: "Lines removed; 0 for a binary file." }),
    status: z.enum(["added", "modified", "deleted", "renamed"]).nullable().meta({
      description: "Null if the host's daemon is too old to report it.",
    }),
    previousPath: z
      .string()
      .nullable()
      .meta({ description: "Where a renamed file was; null for any other." }),
    isBinary: z
      .boolean()
      .nullable()
      .meta({ description: "Null if the host's daemon is too old to report it." }),
  })
  .meta({ id: "FileChange", description: "A file changed by a session." });
export type FileChange = z.infer<typeof FileChange>;

/** What of a session's work is committed and pushed. */
export const SessionGit = z.strictObject({
  branch: z
    .string()
    .nullable()
    .meta({ description: "The branch that push_session pushes to; null until it has a name." }),
  base: z
    .strictObject({
      branch: z.string().nullable().meta({
        description:
          "The branch of the repository at which the session's worktree began; null if it has none, or it is not known.",
      }),
      commit: z.string().meta({ description: "The commit at which it began." }),
      behind: count.nullable().meta({
        description:
          "Commits on that branch, in the same repository, that the session's branch does not have; at most 10,000.",
      }),
    })
    .nullable()
    .meta({ description: "Null if there was no commit." }),
  commits: count.meta({ description: "Commits since the base; at most 10,000." }),
  unpushedCommits: count.meta({
    description:
      "Those of them that push_session has not pushed, and that are in no branch of a remote as git knew it last.",
  }),
  uncommittedFiles: count.meta({
    description: "Files with changes that are in no commit, untracked ones among them.",
  }),
});
export type SessionGit = z.infer<typeof SessionGit>;

export const ParkedSession = z
  .strictObject({
    sessionId: SessionId,
    title: z.string().nullable().meta({ description: "The session's title." }),
    branch: z.string().nullable().meta({ description: "Null for a session in a clone." }),
    parkedAt: Instant.meta({ description: "When the session ended." }),
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
