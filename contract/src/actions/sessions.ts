// Sessions: listing, starting, renaming, pushing, reverting and ending them.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { exactlyOneOf } from "../exactly-one.ts";
import { InstanceId, SessionId, UserId } from "../ids.ts";
import { Cursor, NextCursor, SearchText, limit } from "../pages.ts";
import { AgentKind } from "../records/agent-kind.ts";
import { freshness } from "../records/directory.ts";
import {
  FileChange,
  SessionListEntry,
  SessionRecord,
  SessionStatus,
  SessionSummary,
} from "../records/session.ts";
import { SessionCounts, SessionGroup, SessionOverview } from "../records/session-overview.ts";
import { SessionMode } from "../records/session-mode.ts";
import { AbsolutePath, text } from "../text.ts";
import { Clone, Options } from "./session-parts.ts";

const ofSession = z.strictObject({ sessionId: SessionId });

export const sessionActions = {
  list_sessions: action({
    summary: "List the sessions started through the service, the newest first.",
    group: "sessions",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "records",
    pagedBy: "search_sessions",
    input: z.strictObject({
      instanceId: InstanceId.optional(),
      status: SessionStatus.optional(),
      limit: limit({ max: 200, default: 50 }),
    }),
    result: z.strictObject({ sessions: z.array(SessionListEntry) }),
    refusals: ["not_found"],
  }),

  get_session_summary: action({
    summary: "Show a session, with its present state on the host.",
    group: "sessions",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "host",
    input: ofSession,
    result: SessionSummary,
    refusals: ["not_found"],
  }),

  get_session_diff: action({
    summary: "List the files a session has changed, with lines added and removed.",
    details:
      "Compares with the commit at which the session began, including untracked files; without a commit, with a copy made at the start, unless it was too large. If the host is offline or the session has ended, repeats the last answer with `live` false.",
    group: "code",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "host",
    input: ofSession,
    result: z.strictObject({
      files: z.array(FileChange),
      truncated: z.boolean().meta({ description: "True if the list is incomplete." }),
      ...freshness,
    }),
    refusals: ["not_found", "session_ended", "not_a_repository"],
  }),

  start_session: action({
    summary: "Start a session in a directory of a host, or in a new clone.",
    details:
      "Give exactly one of `directory` and `clone`. In the top directory of a git repository the session gets its own worktree and branch, unless `useWorktree` is false. If the kind is not ready, the host's fallback chain is used.",
    group: "sessions",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    shownBy: "get_session_summary",
    input: z
      .strictObject({
        instanceId: InstanceId,
        directory: AbsolutePath.optional(),
        title: text({ max: 200 }).meta({ description: "Default: the agent's own." }).optional(),
        useWorktree: z
          .boolean()
          .meta({ description: "Default: true in a git repository." })
          .optional(),
        agentKind: AgentKind.meta({ description: "Default: the host's." }).optional(),
        providerId: z.string().meta({ description: "An AI provider of list_models." }).optional(),
        modelId: z
          .string()
          .meta({
            description: "A model of `providerId`, or of the only provider that has it.",
          })
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
      "The host parks the worktree with uncommitted changes and unpushed commits; restore_session restores them. If the host is offline, the status is cleanup_failed until it is back. A user's own directory is never touched.",
    group: "sessions",
    permission: "sessions:edit",
    effect: "destroys",
    idempotent: true,
    reach: "host",
    input: ofSession,
    result: SessionRecord,
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  delete_session: action({
    summary: "End sessions where needed, and delete their records and requests.",
    details:
      "Give exactly one of `sessionId` and `sessionIds`. Each id is handled separately. Fails only if no session could be deleted.",
    group: "sessions",
    permission: "sessions:edit",
    effect: "destroys",
    idempotent: true,
    reach: "host",
    input: z
      .strictObject({
        sessionId: SessionId.optional(),
        sessionIds: z
          .array(SessionId.min(1, "must not be empty"))
          .min(1)
          .max(100)
          .meta({ description: "Several sessions." })
          .optional(),
      })
      .check(exactlyOneOf("sessionId", "sessionIds")),
    result: z.strictObject({
      deleted: z.array(SessionId).meta({ description: "The sessions that are gone." }),
      failed: z
        .array(
          z.strictObject({
            sessionId: SessionId,
            reason: z.string().meta({ description: "Why it failed." }),
          }),
        )
        .meta({ description: "The sessions that are still there." }),
    }),
    refusals: ["nothing_deleted"],
    closedToAgents: true,
  }),

  fork_session: action({
    summary: "Make a new session, of any ready kind, that continues an existing one.",
    details:
      "It gets a copy of the original's own worktree or clone, without ignored files, or works in the same directory. Its agent reads the newest 200 kB of the conversation, without the output of tools. The original may have ended. If `directory` is null, wait_for_session shows when it is ready.",
    group: "sessions",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    shownBy: "list_sessions",
    input: z.strictObject({
      sessionId: SessionId,
      agentKind: AgentKind,
      mode: z
        .enum(["full", "compress"])
        .meta({
          description: "full: the whole conversation. compress: a summary of it.",
          default: "full",
        })
        .optional(),
    }),
    result: SessionRecord,
    refusals: [
      "not_found",
      "agent_not_ready",
      "project_config_present",
      "journal_full",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  rename_session: action({
    summary: "Change a session's title.",
    group: "sessions",
    permission: "sessions:edit",
    openToGrants: "edit",
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z.strictObject({
      sessionId: SessionId,
      title: text({ min: 1, max: 200 }).meta({ description: "The new title." }),
    }),
    result: SessionRecord,
    refusals: ["not_found"],
  }),

  set_session_mode: action({
    summary: "Change what a session's agent may do without asking.",
    details:
      "Holds for the agent's next call, also while a turn runs. A request that is open stays open.",
    group: "sessions",
    permission: "sessions:edit",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: z.strictObject({ sessionId: SessionId, mode: SessionMode }),
    result: SessionRecord,
    refusals: [
      "not_found",
      "session_ended",
      "mode_not_allowed",
      "account_not_yours",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  share_session: action({
    summary: "Choose who may prompt a session that uses your agent account.",
    details:
      "Their prompts spend your quota. You alone allow its agent's calls, widen its mode and run shell commands.",
    group: "sessions",
    permission: "sessions:edit",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      userIds: z
        .array(UserId)
        .max(100)
        .nullable()
        .meta({ description: "Replaces the list. Empty: only you. Null: every member." }),
    }),
    result: SessionRecord,
    refusals: [
      "not_found",
      "session_ended",
      "user_key_required",
      "account_not_yours",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  push_session: action({
    summary: "Push a session's commits to origin and open a pull request for them.",
    details:
      "If a pull request is open already, it is returned. Only commits are pushed; uncommitted changes are counted and stay. Exactly one of `pullRequestUrl` and `pullRequestError` is set.",
    group: "code",
    permission: "sessions:edit",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      openPr: z.boolean().meta({ description: "False only pushes.", default: true }).optional(),
      title: text({ max: 200 }).meta({ description: "Default: the session's title." }).optional(),
      body: text({ max: 20_000 }).meta({ description: "The pull request's text." }).optional(),
    }),
    result: z.strictObject({
      sessionId: SessionId,
      branch: z.string().meta({ description: "The branch at origin." }),
      uncommittedChanges: z.int().min(0).meta({ description: "Files that were not pushed." }),
      pullRequestUrl: z.string().nullable().meta({ description: "The open pull request." }),
      pullRequestError: z
        .string()
        .nullable()
        .meta({ description: "Why there is no pull request, as a stable word." }),
      pullRequestMessage: z.string().nullable().meta({ description: "The same as a sentence." }),
      compareUrl: z.string().nullable().meta({
        description: "Address at which a person can open one; null for a remote without web pages.",
      }),
    }),
    refusals: [
      "not_found",
      "session_ended",
      "not_a_repository",
      "account_not_yours",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),

  revert_session: action({
    summary: "Revert a session to before a message: its conversation and its files.",
    details: "Only for kinds with the capability revert, and not while a turn runs.",
    group: "code",
    permission: "sessions:edit",
    effect: "destroys",
    idempotent: true,
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      messageId: z.string().meta({ description: "A `messageId` of the session's log." }),
      partId: z
        .string()
        .meta({ description: "Same effect as the message that contains it." })
        .optional(),
    }),
    result: z.strictObject({
      sessionId: SessionId,
      messageId: z.string().meta({ description: "The first message that is undone." }),
    }),
    refusals: ["not_found", "capability_missing", "turn_running", "session_ended", ...hostRefusals],
    closedToAgents: true,
  }),

  search_sessions: action({
    summary: "Page through sessions, the newest first, by text, host, person, kind or status.",
    details: "A page can be empty: go on until `nextCursor` is null.",
    group: "sessions",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      query: SearchText.meta({
        description: "A part of the title, branch or directory, in any case.",
      }).optional(),
      instanceId: InstanceId.optional(),
      status: SessionStatus.optional(),
      agentKind: AgentKind.optional(),
      // No id of one kind: sessions stay when the person, key or schedule that started them is gone.
      startedBy: text({ min: 1, max: 100 })
        .meta({ description: "The `id` of `startedBy`." })
        .optional(),
      group: SessionGroup.optional(),
      withCounts: z.boolean().meta({ description: "Fills `counts`." }).optional(),
      cursor: Cursor.optional(),
      limit: limit({ max: 200, default: 50 }),
    }),
    result: z.strictObject({
      sessions: z.array(SessionOverview),
      nextCursor: NextCursor,
      counts: SessionCounts.nullable(),
    }),
    refusals: ["not_found"],
  }),

  mark_session_read: action({
    summary: "Record how far you have read a session's log.",
    details:
      "It is recorded for the person, in whatever browser or with whatever key they call, and never goes back. search_sessions shows it as `readSeq`.",
    group: "reading",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z.strictObject({
      sessionId: SessionId,
      seq: z
        .int()
        .min(0)
        .meta({ description: "The last entry that was read. A larger one counts as the newest." }),
    }),
    result: z.strictObject({
      sessionId: SessionId,
      readSeq: z.int().min(0).meta({ description: "The last entry that was ever read." }),
    }),
    refusals: ["not_found", "user_key_required"],
    closedToAgents: true,
  }),
};
