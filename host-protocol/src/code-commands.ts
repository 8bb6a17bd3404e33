// Commands about the code of sessions: starting a session in its own clone, forking one, and pushing commits.
import { Fallback, SessionId } from "@hawser/contract";
import { z } from "zod";
import type { CommandKind } from "./command-kind.ts";
import { OwnerId } from "./identity-commands.ts";
import { sessionCommands } from "./session-commands.ts";

const { start_session } = sessionCommands;

export const codeCommands = {
  /** Like start_session, in a new clone that the session owns. Exactly one of `repo` and `url`. */
  start_session_in_clone: {
    effect: "changes",
    payload: start_session.payload.omit({ directory: true, useWorktree: true }).extend({
      clone: z.strictObject({
        repo: z.string().optional(),
        url: z.string().optional(),
        /** Default: the repository's own name. */
        name: z.string().optional(),
      }),
    }),
    result: start_session.result,
    // Git's time limit. No caller waits that long: the session's log reports the outcome.
    deadlineMs: 30 * 60_000,
    refusals: start_session.refusals,
  },
  /**
   * Like start_session, as a continuation of another session. `directory` is used if the host no longer has
   * files of the original; null if it had a clone of its own.
   */
  fork_session: {
    effect: "changes",
    payload: start_session.payload.omit({ providerId: true, modelId: true, options: true }).extend({
      originalId: SessionId,
      directory: z.string().nullable(),
      /** What the agent reads of the earlier conversation; empty if nothing was said. */
      conversation: z.string(),
      isCut: z.boolean(),
      /** Whether the agent reads a summary of the conversation instead. */
      summarize: z.boolean(),
      /** The turn of the original that a used-up quota ended, if the fork continues it. */
      continues: z
        .strictObject({
          turnId: z.string(),
          /** Why the fork has another kind, as its log and its record show it. */
          fallback: Fallback,
          /** The model of the chain's entry; default: the kind's own. */
          providerId: z.string().optional(),
          modelId: z.string().optional(),
        })
        .optional(),
    }),
    result: start_session.result,
    // A summary takes a turn of the agent. No caller waits that long: the session's log reports the outcome.
    deadlineMs: 10 * 60_000,
    refusals: start_session.refusals,
  },
  /** Pushes HEAD to the session's own branch at its original `origin`, and opens a pull request if wanted. */
  push_session: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      pullRequest: z.strictObject({ title: z.string(), body: z.string() }).nullable(),
      /** Who pushes it, if a person does. */
      ownerId: OwnerId.nullable().optional(),
    }),
    result: z.strictObject({
      branch: z.string(),
      uncommittedChanges: z.int().min(0),
      /** Exactly one of these two is set. */
      pullRequestUrl: z.string().nullable(),
      pullRequestError: z.string().nullable(),
      compareUrl: z.string().nullable(),
    }),
    // Like a clone: the command is repeated under the same id.
    deadlineMs: 10 * 60_000,
    refusals: ["session_ended", "not_a_repository", "account_not_yours"],
  },
} as const satisfies Record<string, CommandKind>;
