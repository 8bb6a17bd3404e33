// The files of sessions: the patch of one, and the worktrees and clones that hosts keep of sessions that
// have ended.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { InstanceId, SessionId } from "../ids.ts";
import { Cursor, NextCursor } from "../pages.ts";
import { ParkedSession, SessionRecord } from "../records/session.ts";

export const sessionFileActions = {
  get_session_file_diff: action({
    summary: "Show what a session has changed in one file, as a patch.",
    details:
      "Compared as by get_session_diff, page by page of at most 64 KiB. When the file changes between two pages, the cursor is refused and the patch has to be read from its beginning.",
    permission: "sessions:view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      path: z.string().min(1).meta({ description: "As get_session_diff lists it." }),
      cursor: Cursor.optional(),
    }),
    result: z.strictObject({
      path: z.string(),
      patch: z
        .string()
        .meta({ description: "In git's form; the pages put together are the whole." }),
      nextCursor: NextCursor,
    }),
    refusals: ["not_found", "session_ended", "not_a_repository", ...hostRefusals],
  }),

  list_parked_sessions: action({
    summary:
      "List the ended sessions of a host whose worktree or clone it still keeps, the newest first.",
    details:
      "A host keeps them for 14 days, and drops the oldest earlier when they take more disk than its policy file allows.",
    permission: "sessions:view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({ instanceId: InstanceId }),
    result: z.strictObject({ parkedSessions: z.array(ParkedSession), truncated: z.boolean() }),
    refusals: ["not_found", ...hostRefusals],
  }),

  restore_session: action({
    summary:
      "Make a new session of an ended one, with its worktree and branch, or its clone, as they were left.",
    details:
      "Also of a deleted one, as long as its host keeps the worktree or the clone. Agent kind, title and model are the old session's; the conversation is new.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    input: z.strictObject({ sessionId: SessionId }),
    result: SessionRecord,
    refusals: [
      "not_found",
      "agent_not_ready",
      "project_config_present",
      "already_exists",
      "journal_full",
      ...hostRefusals,
    ],
    closedToAgents: true,
  }),
};
