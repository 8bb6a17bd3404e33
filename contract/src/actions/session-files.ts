// The files of sessions: patches of single files, and the parked worktrees and clones of ended sessions.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { InstanceId, SessionId } from "../ids.ts";
import { Cursor, NextCursor } from "../pages.ts";
import { freshness } from "../records/directory.ts";
import { ParkedSession, SessionGit, SessionRecord } from "../records/session.ts";

/** Null if the host never answered. */
const orNull = (figure: z.ZodInt) =>
  figure.nullable().meta({ description: `${figure.description} Null if \`takenAt\` is.` });

export const sessionFileActions = {
  get_session_file_diff: action({
    summary: "Show what a session has changed in one file, as a patch.",
    details:
      "Same comparison as get_session_diff, in pages. If the file changes between two pages, the cursor is refused; begin again.",
    group: "code",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({
      sessionId: SessionId,
      path: z.string().min(1).meta({ description: "A path from get_session_diff." }),
      cursor: Cursor.optional(),
      maxBytes: z
        .int()
        .min(1_000)
        .max(65_536)
        .meta({ description: "Maximum size of a page.", default: 65_536 })
        .optional(),
    }),
    result: z.strictObject({
      path: z.string().meta({ description: "The file's path." }),
      patch: z.string().meta({
        description: "A part of the patch, in git's format; joined, the pages are the whole patch.",
      }),
      nextCursor: NextCursor,
    }),
    refusals: ["not_found", "session_ended", "not_a_repository", ...hostRefusals],
  }),

  get_session_git: action({
    summary: "Count what a session has committed, what is not pushed, and what is not committed.",
    details:
      "Nothing is fetched. If the host is offline or the session has ended, repeats the last answer with `live` false.",
    group: "reading",
    permission: "sessions:view",
    openToGrants: "view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({ sessionId: SessionId }),
    result: z.strictObject({
      ...SessionGit.shape,
      commits: orNull(SessionGit.shape.commits),
      unpushedCommits: orNull(SessionGit.shape.unpushedCommits),
      uncommittedFiles: orNull(SessionGit.shape.uncommittedFiles),
      pullRequestUrl: z
        .string()
        .nullable()
        .meta({ description: "The pull request that push_session opened or found last." }),
      ...freshness,
    }),
    refusals: ["not_found", "session_ended", "not_a_repository"],
  }),

  list_parked_sessions: action({
    summary:
      "List the ended sessions whose worktree or clone the host has parked, the newest first.",
    details:
      "A host keeps them for 14 days; it removes the oldest earlier if they need more disk than its policy file allows.",
    group: "code",
    permission: "sessions:view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({ instanceId: InstanceId }),
    result: z.strictObject({
      parkedSessions: z.array(ParkedSession),
      truncated: z.boolean().meta({ description: "True if the list is incomplete." }),
    }),
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  restore_session: action({
    summary:
      "Make a new session from an ended one, with its worktree and branch, or its clone, as they were.",
    details:
      "Works for deleted sessions too, as long as the host has the files. Agent kind, title and model are the old session's; the conversation is new.",
    group: "code",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    shownBy: "get_session_summary",
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
