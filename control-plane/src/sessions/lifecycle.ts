// The one place that decides how a session's status changes. Whoever changes it asks here, inside the
// transaction that writes it and with the session's row locked, or writes for all of `movedBy` at once.
//
//   active ↔ detached   its agent's process went away; the next prompt brings it back
//   error               the agent cannot start or died; the next prompt tries again
//   ended               over, for good
//   cleanup_failed      over, and the host still has to clean up
import type { SessionStatus } from "@hawser/contract";

export const triggers = [
  /** The host has made it. */
  "started",
  /** Nobody knows whether the host has made it. */
  "start_unknown",
  /** A turn runs. */
  "turn_started",
  /** What the host's log says of it. */
  "told_active",
  "told_detached",
  "told_error",
  "told_ended",
  "told_cleanup_failed",
  /** The host has stopped it and cleaned up, because a caller wanted that. */
  "cleaned_up",
  /** A caller wanted it ended, and the host has not cleaned up yet. */
  "cleanup_owed",
  /** Another machine is the instance's host now. */
  "host_replaced",
  /** The host has another journal now, which does not know it. */
  "journal_lost",
] as const;
export type Trigger = (typeof triggers)[number];

type Moves = Partial<Record<SessionStatus, SessionStatus>>;

/**
 * An ended session never comes back, and one that is to be cleaned up only ends. Where a status leads to
 * itself, the reason is a new one.
 */
const table: Record<Trigger, Moves> = {
  started: { error: "active" },
  start_unknown: { active: "error" },
  turn_started: { detached: "active", error: "active" },
  told_active: { detached: "active", error: "active" },
  told_detached: { active: "detached", error: "detached" },
  told_error: { active: "error", detached: "error", error: "error" },
  told_ended: { active: "ended", detached: "ended", error: "ended", cleanup_failed: "ended" },
  told_cleanup_failed: {
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

/** The status after it; nothing when it changes nothing. */
export function statusAfter(status: SessionStatus, trigger: Trigger): SessionStatus | undefined {
  return table[trigger][status];
}

/** The statuses that a trigger changes, for a statement about many sessions. */
export function movedBy(trigger: Trigger): SessionStatus[] {
  return Object.keys(table[trigger]) as SessionStatus[];
}

/** It takes no further work. */
export function isOver(status: SessionStatus): boolean {
  return status === "ended" || status === "cleanup_failed";
}
