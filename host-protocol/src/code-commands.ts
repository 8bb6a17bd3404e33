// What the control plane asks of a host about the code that sessions work on: to start one in a clone
// of its own, and to push what it has committed.
import { SessionId } from "@hawser/contract";
import { z } from "zod";
import type { CommandKind } from "./command-kind.ts";
import { sessionCommands } from "./session-commands.ts";

const { start_session } = sessionCommands;

export const codeCommands = {
  /** As start_session, in a fresh clone that is the session's own. Exactly one of `repo` and `url`. */
  start_session_in_clone: {
    effect: "changes",
    payload: start_session.payload.omit({ directory: true, useWorktree: true }).extend({
      clone: z.strictObject({
        repo: z.string().optional(),
        url: z.string().optional(),
        /** The repository's own when left out. */
        name: z.string().optional(),
      }),
    }),
    result: start_session.result,
    // What git may take. Nobody waits for that long: the session's log tells how it ended.
    deadlineMs: 30 * 60_000,
    refusals: start_session.refusals,
  },
  /** HEAD, to the session's own branch at the origin it began with; then a pull request, if wanted. */
  push_session: {
    effect: "changes",
    payload: z.strictObject({
      sessionId: SessionId,
      pullRequest: z.strictObject({ title: z.string(), body: z.string() }).nullable(),
    }),
    result: z.strictObject({
      branch: z.string(),
      uncommittedChanges: z.int().min(0),
      /** Exactly one of these two is set. */
      pullRequestUrl: z.string().nullable(),
      pullRequestError: z.string().nullable(),
      compareUrl: z.string().nullable(),
    }),
    // As with a clone: asked again under the same id.
    deadlineMs: 10 * 60_000,
    refusals: ["session_ended", "not_a_repository"],
  },
} as const satisfies Record<string, CommandKind>;
