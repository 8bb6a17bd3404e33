// Watches the sessions of runs whose prompt was accepted, and ends the runs.
//
// Every node does this. What a session shows is the same on every node, and a run ends once: the statement that
// ends it also counts the failure.
import type { SystemSql } from "../postgres/statement.ts";
import { isOver } from "../sessions/lifecycle.ts";
import { statusMessage } from "../sessions/status-reasons.ts";
import * as store from "./outcome-store.ts";

const mostWatched = 500;
/** A host that stays away for longer will hardly finish the turn. A laptop may be away for a night. */
const longestAwaySeconds = 24 * 60 * 60;
const longestSeconds = 7 * 24 * 60 * 60;

export type Watched =
  | { outcome: "running" | "needs_answer" | "succeeded" }
  | { outcome: "failed"; failure: string };

const turnFailures = {
  failed: "Its turn failed. list_session_events of the session shows why.",
  aborted: "Its turn was stopped.",
  interrupted: "Its turn was interrupted, because the agent or its host stopped.",
} as const;

/** The outcome of a run by what its session shows. */
export function outcomeOf(row: store.WatchedRow): Watched {
  const { status, activity, turn_outcome, reachable, continuation } = row;
  if (!status) return failed("Its session was deleted before its turn had finished.");
  // If people continue the session, the run ends with the last of its turns.
  const isSettled = row.session_turn_id === row.turn_id || (activity === "idle" && !row.is_queued);
  // A turn that a used-up quota ended: the run follows the session that continues it.
  if (continuation?.isUnderWay) return { outcome: "running" };
  if (continuation?.problem) return failed(`${turnFailures.failed} ${continuation.problem}`);
  if (turn_outcome && isSettled) {
    return turn_outcome === "completed"
      ? { outcome: "succeeded" }
      : failed(turnFailures[turn_outcome]);
  }
  const why = statusMessage({
    status_reason: row.status_reason ?? null,
    status_message: row.status_message ?? null,
  });
  if (isOver(status)) return failed(why ?? "Its session was ended before its turn had finished.");
  if (status === "error") return failed(why ?? "Its session failed.");
  if (!reachable && (row.away_seconds ?? row.watched_seconds) > longestAwaySeconds)
    return failed("Its host has been disconnected for a day. Start its daemon.");
  if (row.watched_seconds > longestSeconds) return failed("It did not end within 7 days.");
  return { outcome: activity === "waiting" ? "needs_answer" : "running" };
}

const failed = (failure: string): Watched => ({ outcome: "failed", failure });

/** Returns whether there may be more runs to look at. */
export async function watchRuns(system: SystemSql): Promise<boolean> {
  const rows = await system.rows(store.watchRuns, mostWatched);
  const changed: { row: store.WatchedRow; outcome: string }[] = [];
  const ends: store.RunEnd[] = [];
  for (const row of rows) {
    const watched = outcomeOf(row);
    const { outcome } = watched;
    if (outcome === "succeeded" || outcome === "failed") {
      const { organization_id, schedule_id, run_id, cost_usd } = row;
      const failure = outcome === "failed" ? watched.failure : null;
      const run = { organization_id, schedule_id, run_id, fence: null };
      ends.push({ ...run, outcome, failure, is_host_away: false, cost_usd, pause: null });
    } else if (outcome !== row.outcome) {
      changed.push({ row, outcome });
    }
  }
  if (changed.length > 0) {
    const column = (name: "organization_id" | "schedule_id" | "run_id") =>
      changed.map(({ row }) => row[name]);
    const runs = [column("organization_id"), column("schedule_id"), column("run_id")];
    const outcomes = changed.map(({ outcome }) => outcome);
    await system.rows(store.setOutcomes, ...runs, outcomes);
  }
  if (ends.length > 0) await system.rows(store.endRuns, JSON.stringify(ends));
  return rows.length === mostWatched;
}
