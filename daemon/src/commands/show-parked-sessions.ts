// Lists the worktrees and clones of ended sessions that this host still has.
import type { CommandResultOf } from "@hawser/host-protocol";
import type { Sessions } from "../sessions/sessions.ts";
import { parkedForMs } from "../worktrees/parked.ts";

/** As many as fit into one reply. */
const mostShown = 500;

export async function showParkedSessions(
  sessions: Sessions,
): Promise<CommandResultOf<"list_parked_sessions">> {
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
}
