// Which sessions stand in which group of a list, and in which order: as they entered the group. While a hand is on the
// list, nothing in it moves.
import type { SessionOverview } from "@hawser/client";
import { groupOf, groups, type SessionGroup } from "./words.ts";

export interface ArrangedRow {
  session: SessionOverview;
  /** Rows stand in the order of this number, which was made when the session entered the group. */
  at: number;
}

export type Arrangement = Record<SessionGroup, readonly ArrangedRow[]>;

export const nothingArranged: Arrangement = { waiting: [], running: [], idle: [], ended: [] };

/** Returns `before` itself if nothing has changed. */
export function arrange(
  before: Arrangement,
  sessions: readonly SessionOverview[],
  /** Groups in which nothing may move now. */
  held: ReadonlySet<SessionGroup>,
): Arrangement {
  const newest = new Map(sessions.map((session) => [session.sessionId, session]));
  const after = { ...before };
  for (const group of groups) {
    after[group] = held.has(group)
      ? before[group].map((row) => refreshed(row, newest))
      : inOrder(before[group], sessions, group);
  }
  return groups.every((group) => isSame(before[group], after[group])) ? before : after;
}

/** A row stays where it is, also if its session has left the group or is gone. */
function refreshed(row: ArrangedRow, newest: Map<string, SessionOverview>): ArrangedRow {
  return { ...row, session: newest.get(row.session.sessionId) ?? row.session };
}

function inOrder(
  before: readonly ArrangedRow[],
  sessions: readonly SessionOverview[],
  group: SessionGroup,
): ArrangedRow[] {
  const entered = new Map(before.map(({ session, at }) => [session.sessionId, at]));
  return sessions
    .filter((session) => groupOf(session) === group)
    .map((session) => ({
      session,
      at: entered.get(session.sessionId) ?? orderOf(session, group),
    }))
    .sort((a, b) => a.at - b.at || (a.session.sessionId < b.session.sessionId ? 1 : -1));
}

/** Who waits longest comes first; else what is newest. */
function orderOf(session: SessionOverview, group: SessionGroup): number {
  const { oldestRequest, turnStartedAt, lastActivityAt, endedAt, createdAt } = session;
  switch (group) {
    case "waiting":
      return Date.parse(oldestRequest?.raisedAt ?? createdAt);
    case "running":
      return -Date.parse(turnStartedAt ?? createdAt);
    case "idle":
      return -Date.parse(lastActivityAt ?? createdAt);
    default:
      return -Date.parse(endedAt ?? createdAt);
  }
}

const isSame = (before: readonly ArrangedRow[], after: readonly ArrangedRow[]) =>
  before.length === after.length &&
  before.every(({ session, at }, n) => session === after[n]!.session && at === after[n]!.at);
