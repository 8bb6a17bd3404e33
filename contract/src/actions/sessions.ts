// Sessions: seeing, starting and steering them, taking their work out, and ending them.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { exactlyOneOf } from "../exactly-one.ts";
import { InstanceId, SessionId } from "../ids.ts";
import { Cursor, NextCursor, limit } from "../pages.ts";
import { AgentKind } from "../records/agent-kind.ts";
import { freshness } from "../records/directory.ts";
import {
  FileChange,
  SessionListEntry,
  SessionRecord,
  SessionStatus,
  SessionSummary,
} from "../records/session.ts";
import { AbsolutePath, text } from "../text.ts";
import { Clone, Options } from "./session-parts.ts";

const ofSession = z.strictObject({ sessionId: SessionId });

export const sessionActions = {
  list_sessions: action({
    summary: "List the sessions started through the service, the newest first.",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      instanceId: InstanceId.optional(),
      status: SessionStatus.optional(),
      limit: limit({ max: 200, default: 50 }),
    }),
    result: z.strictObject({ sessions: z.array(SessionListEntry) }),
    refusals: ["not_found"],
  }),

  get_session_summary: action({
    summary: "Show a session, with what its host says of it now.",
    permission: "sessions:view",
    effect: "reads",
    reach: "host",
    input: ofSession,
    result: SessionSummary,
    refusals: ["not_found"],
  }),

  get_session_diff: action({
    summary: "List the files a session has changed, with lines added and removed.",
    details:
      "Compared with the commit the session began at, untracked files included. For a host that is away the last answer is repeated with `live` false.",
    permission: "sessions:view",
    effect: "reads",
    reach: "host",
    input: ofSession,
    result: z.strictObject({
      files: z.array(FileChange),
      truncated: z.boolean().meta({ description: "True when there are more than are listed." }),
      ...freshness,
    }),
    refusals: ["not_found", "not_a_repository"],
  }),

  start_session: action({
    summary: "Start a session of an agent in a directory of a host, or in a fresh clone.",
    details:
      "Give exactly one of `directory` and `clone`. In a git repository the session gets a worktree and a branch of its own, unless `useWorktree` is false; a cloned session works in its checkout. When the kind cannot work now, the host's fallback chain is followed. No repository's own hooks, plugins or tool servers are run.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    input: z
      .strictObject({
        instanceId: InstanceId,
        directory: AbsolutePath.optional(),
        title: text({ max: 200 }).optional(),
        useWorktree: z
          .boolean()
          .meta({ description: "When left out: true in a git repository, else false." })
          .optional(),
        agentKind: AgentKind.meta({ description: "The host's default when left out." }).optional(),
        providerId: z.string().optional(),
        modelId: z
          .string()
          .meta({ description: "A model of `providerId`; alone, if only one provider has it." })
          .optional(),
        options: Options.optional(),
        clone: Clone.optional(),
      })
      .check(exactlyOneOf("directory", "clone")),
    result: SessionRecord,
    refusals: [
      "not_found",
      "agent_not_ready",
      "not_a_repository",
      "project_config_present",
      "already_exists",
      "journal_full",
      ...hostRefusals,
    ],
  }),

  end_session: action({
    summary: "End a session: stop its turn and remove its worktree and branch from the host.",
    details:
      "Uncommitted changes and unpushed commits go with the worktree; the record stays. While the host is away the status is cleanup_failed, and the clean-up happens when it is back. A directory of the user's own is never touched. Ending an ended session changes nothing.",
    permission: "sessions:edit",
    effect: "destroys",
    reach: "host",
    input: ofSession,
    result: SessionRecord,
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  delete_session: action({
    summary: "End sessions where needed, and delete their records and requests.",
    details:
      "Give exactly one of `sessionId` and `sessionIds`. Each id is treated by itself; only when none could be deleted does the call fail, also when the ids are unknown.",
    permission: "sessions:edit",
    effect: "destroys",
    reach: "host",
    input: z
      .strictObject({
        sessionId: SessionId.optional(),
        sessionIds: z.array(SessionId.min(1, "must not be empty")).min(1).max(100).optional(),
      })
      .check(exactlyOneOf("sessionId", "sessionIds")),
    result: z.strictObject({
      deleted: z.array(SessionId),
      failed: z.array(z.strictObject({ sessionId: SessionId, reason: z.string() })),
    }),
    refusals: ["nothing_deleted"],
    closedToAgents: true,
  }),

  fork_session: action({
    summary: "Make a new session, of any ready kind, that carries on from an existing one.",
    details:
      "The new session has a worktree of its own with the original's files, uncommitted ones included. The original is not touched and may even have ended.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      agentKind: AgentKind,
      mode: z
        .enum(["full", "compress"])
        .meta({
          description: "full: the whole conversation is carried over. compress: a summary of it.",
          default: "full",
        })
        .optional(),
    }),
    result: SessionRecord,
    refusals: [
      "not_found",
      "agent_not_ready",
      "capability_missing",
      "project_config_present",
      "journal_full",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  rename_session: action({
    summary: "Give a session another title.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({ sessionId: SessionId, title: text({ min: 1, max: 200 }) }),
    result: SessionRecord,
    refusals: ["not_found"],
  }),

  push_session: action({
    summary: "Push a session's commits to origin and open a pull request for them.",
    details:
      "A pull request already open is returned instead of a second one. Only commits are pushed; uncommitted changes are counted and left alone. Exactly one of `pullRequestUrl` and `pullRequestError` is set.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      openPr: z.boolean().meta({ default: true }).optional(),
      title: text({ max: 200 })
        .meta({ description: "The pull request's title; the session's when left out." })
        .optional(),
      body: text({ max: 20_000 }).meta({ description: "The pull request's text." }).optional(),
    }),
    result: z.strictObject({
      sessionId: SessionId,
      branch: z.string(),
      uncommittedChanges: z.int().min(0),
      pullRequestUrl: z.string().nullable(),
      pullRequestError: z.string().nullable().meta({ description: "Why there is none." }),
      compareUrl: z.string().nullable().meta({
        description: "Where a person can open one; null for a remote without a web page.",
      }),
    }),
    refusals: ["not_found", "session_ended", "not_a_repository", ...hostRefusals],
    closedToAgents: true,
  }),

  revert_session: action({
    summary: "Take a session back to a message, dropping what was said and changed after it.",
    details: "Only for kinds that have the capability revert, and not while a turn is running.",
    permission: "sessions:edit",
    effect: "destroys",
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      messageId: z.string(),
      partId: z.string().meta({ description: "Counts as the message it is part of." }).optional(),
    }),
    result: z.strictObject({ sessionId: SessionId, messageId: z.string() }),
    refusals: ["not_found", "capability_missing", "turn_running", "session_ended", ...hostRefusals],
    closedToAgents: true,
  }),

  search_sessions: action({
    summary: "Page through sessions, the newest first, by host or status.",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      instanceId: InstanceId.optional(),
      status: SessionStatus.optional(),
      cursor: Cursor.optional(),
      limit: limit({ max: 200, default: 50 }),
    }),
    result: z.strictObject({ sessions: z.array(SessionListEntry), nextCursor: NextCursor }),
    refusals: ["not_found"],
  }),
};
