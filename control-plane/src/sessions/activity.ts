// What a session is doing.
import type { SessionActivity } from "@hawser/contract";
import { isOver, isOverSql } from "./lifecycle.ts";
import type { SessionWork } from "./store.ts";

/** What the session is doing; `unknown` if it worked when its host was lost. */
export function activityOf(row: SessionWork): SessionActivity {
  if (isOver(row.status)) return "idle";
  const { activity, queued_turns, running_shells, reachable } = row;
  // Between the turns of two queued prompts, the agent is idle for a moment.
  const isAtWork = activity !== "idle" || queued_turns.length > 0 || running_shells.length > 0;
  if (!isAtWork) return "idle";
  if (activity === "waiting") return "waiting";
  if (!reachable) return "unknown";
  return activity === "idle" ? "running" : activity;
}

/** Whether session `s` is at work, as activityOf says for a session that is not over. */
export const isAtWorkSql = `(s.activity <> 'idle' OR s.queued_turns <> '{}' OR s.running_shells <> '{}')`;

/** The condition of the index sessions_at_work, for session `s`. Holds for every session at work, and for some others. */
export const mayBeAtWorkSql = `s.deleted_at IS NULL AND NOT ${isOverSql("s.status")}
        AND (s.starting_since IS NOT NULL OR s.turn_id IS NOT NULL AND s.turn_outcome IS NULL
             OR s.queued_turns <> '{}' OR s.running_shells <> '{}')`;
