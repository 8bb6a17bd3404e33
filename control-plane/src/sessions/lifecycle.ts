// The one place that decides how a session's status changes. Code that changes one session calls
// `statusAfter` inside the transaction that writes the status, with the session's row locked. SQL that
// changes many sessions is generated from the same table by `statusAfterSql` and `movedBySql`.
//
//   active ↔ detached   the agent's process has ended; the next prompt starts it again
//   error               the agent cannot start, or died; the next prompt tries again
//   ended               over for good
//   cleanup_failed      over, but the host still has to clean up
import type { SessionStatus } from "@hawser/contract";

export const triggers = [
  /** The host has created the session. */
  "started",
  /** Nobody knows whether the host has created the session. */
  "start_unknown",
  /** A turn runs. */
  "turn_started",
  /** The host's log reports this status. */
  "reported_active",
  "reported_detached",
  "reported_error",
  "reported_ended",
  "reported_cleanup_failed",
  /** A caller ended the session, and the host has stopped it and cleaned up. */
  "cleaned_up",
  /** A caller ended the session, and the host has not cleaned up yet. */
  "cleanup_owed",
  /** The instance was paired with another machine. */
  "host_replaced",
  /** The host has a new journal, which does not contain the session. */
  "journal_lost",
] as const;
export type Trigger = (typeof triggers)[number];

type Moves = Partial<Record<SessionStatus, SessionStatus>>;

/**
 * The status after each trigger, by the status before. A status without an entry does not change. A
 * status that leads to itself gets a new reason.
 */
const table: Record<Trigger, Moves> = {
  started: { error: "active" },
  start_unknown: { active: "error" },
  turn_started: { detached: "active", error: "active" },
  reported_active: { detached: "active", error: "active" },
  reported_detached: { active: "detached", error: "detached" },
  reported_error: { active: "error", detached: "error", error: "error" },
  reported_ended: { active: "ended", detached: "ended", error: "ended", cleanup_failed: "ended" },
  reported_cleanup_failed: {
    active: "cleanup_failed",
    detached: "cleanup_failed",
    error: "cleanup_failed",
    cleanup_failed: "cleanup_failed",
  },
  cleaned_up: { active: "ended", detached: "ended", error: "ended", cleanup_failed: "ended" },
  cleanup_owed: {
    active: "cleanup_failed",
    detached: "cleanup_failed",
    error: "cleanup_failed",
    cleanup_failed: "cleanup_failed",
  },
  host_replaced: { active: "error", detached: "error", error: "error" },
  journal_lost: { active: "error", detached: "error", error: "error" },
};

/** The status after the trigger; undefined if the trigger does not change this status. */
export function statusAfter(status: SessionStatus, trigger: Trigger): SessionStatus | undefined {
  return table[trigger][status];
}

/** The statuses that a trigger changes. */
export function movedBy(trigger: Trigger): SessionStatus[] {
  return Object.keys(table[trigger]) as SessionStatus[];
}

/** An SQL expression for the status after the trigger. */
export function statusAfterSql(trigger: Trigger, column = "status"): string {
  const moves = movedBy(trigger).map(
    (status) => `WHEN '${status}' THEN '${statusAfter(status, trigger)}'`,
  );
  return `CASE ${column} ${moves.join(" ")} ELSE ${column} END`;
}

/** An SQL condition that holds for the statuses that the trigger changes. */
export function movedBySql(trigger: Trigger, column = "status"): string {
  return `${column} IN (${quoted(movedBy(trigger))})`;
}

const over: readonly SessionStatus[] = ["ended", "cleanup_failed"];

/** Whether a session with this status accepts no further work. */
export function isOver(status: SessionStatus): boolean {
  return over.includes(status);
}

/** An SQL condition that holds for the statuses of sessions that accept no further work. */
export const isOverSql = (column = "status") => `${column} IN (${quoted(over)})`;

const quoted = (statuses: readonly SessionStatus[]) =>
  statuses.map((status) => `'${status}'`).join(", ");
