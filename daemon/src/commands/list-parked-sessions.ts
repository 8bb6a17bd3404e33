// list_parked_sessions: the worktrees and clones of ended sessions that are still here.
import { parkedForMs } from "../worktrees/parked.ts";
import type { Command } from "./command.ts";

/** What fits into one reply. */
const mostShown = 500;

export const listParkedSessions: Command<"list_parked_sessions"> = {
  repeatable: true,
  endsHost: false,
  async run(_payload, { sessions }) {
    const trees = await sessions.listParked();
    const shown = trees.slice(0, mostShown).map(({ sessionId, record, sizeBytes }) => ({
      sessionId,
      title: record.session?.title ?? null,
      branch: record.branch,
      parkedAt: new Date(record.parkedAt).toISOString(),
      sizeBytes,
      expiresAt: new Date(record.parkedAt + parkedForMs).toISOString(),
    }));
    return { parkedSessions: shown, truncated: trees.length > shown.length };
  },
};
