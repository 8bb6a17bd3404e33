// What a node claims of a schedule that is due: its time, or the latest one if whole periods were missed.
import type { DueRow, Slot } from "./claim-store.ts";
import { countRuns, latestRun, nextRun } from "./recurrence.ts";

/** Only the time that the database reported decides, so that every node claims the same. */
export function slotOf(due: DueRow): Slot {
  const { organization_id, schedule_id, slot } = due;
  const rule = {
    startAt: new Date(due.start_at),
    frequency: due.frequency,
    timeZone: due.time_zone,
  };
  const slotAt = new Date(due.slot_at);
  const now = new Date(Math.max(Date.parse(due.now), slotAt.getTime()));
  const following = nextRun(rule, slotAt);
  const isMissed = following !== null && following <= now;
  // The latest time is not before the following one, which is not later than now.
  const latest = isMissed ? latestRun(rule, now)! : slotAt;
  return {
    organization_id,
    schedule_id,
    slot,
    run_at: isMissed ? latest.toISOString() : slot,
    next_run_at: (isMissed ? nextRun(rule, now) : following)?.toISOString() ?? null,
    missed: isMissed ? sentence(countRuns(rule, slotAt, now), slotAt, latest) : null,
  };
}

/** The slot and all times up to the latest, which runs, were missed. */
function sentence(count: number, first: Date, latest: Date): string {
  const missed = count === 1 ? "1 time was missed" : `${count} times were missed`;
  return `The service did not run it in time: ${missed} since ${shown(first)}. The run that was due at ${shown(latest)} was started late.`;
}

const shown = (instant: Date) => instant.toISOString().replace(/\.\d+Z$/, "Z");
