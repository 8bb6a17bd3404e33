// Waiting for a session on behalf of a caller that has no stream.
import {
  formatId,
  notFound,
  parseId,
  type InputOf,
  type ResultOf,
  type sessionTurnActions,
} from "@hawser/contract";
import type { ReadContext } from "../dispatch/handler.ts";
import { lastId } from "../cursor.ts";
import { query } from "../postgres/statement.ts";
import { requestRecord } from "../requests/listing.ts";
import { newest } from "../requests/store.ts";
import { activityOf } from "../sessions/activity.ts";
import { isOver } from "../sessions/lifecycle.ts";
import { statusMessage } from "../sessions/status-reasons.ts";
import { selectSession, type SessionRow } from "../sessions/store.ts";
import type { Follows } from "./follow.ts";
import { selectMessageOf, selectTurnReasonOf } from "./follow-store.ts";
import { explainTurn } from "./explain-turn.ts";
import { selectContinuing } from "./used-up-store.ts";

type Wait = (typeof sessionTurnActions)["wait_for_session"];

export interface SessionLogServices {
  follows: Follows;
}

interface Found {
  row: SessionRow;
  requests: ReturnType<typeof requestRecord>[];
  /** Whether the failed turn is to continue in another session, which is not known yet. */
  isContinuing: boolean;
}

const mostRequests = 50;
const longestMessage = 4_000;
/** How many entries are searched for the agent's last message, and for the end of the turn. */
const mostLookedAt = 2_000;

export async function waitForSession(
  { sql, follows }: ReadContext & SessionLogServices,
  { sessionId, timeoutSeconds = 20, sinceSeq = -1 }: InputOf<Wait>,
): Promise<ResultOf<Wait>> {
  const id = parseId("session", sessionId);
  if (!id) throw notFound("session");
  const timeout = AbortSignal.timeout(timeoutSeconds * 1000);
  let isNotified = false;
  let wake = () => {};
  const wakeUp = () => {
    isNotified = true;
    wake();
  };
  timeout.addEventListener("abort", wakeUp);
  const unfollow = follows.follow(
    { organizationId: sql.organizationId, sessionId: id },
    { applied: wakeUp, recordChanged: wakeUp, gone: wakeUp },
  );
  try {
    await follows.settled();
    for (;;) {
      isNotified = false;
      const found = await read();
      if (isWorthReturning(found)) return await resultOf(found, false);
      if (timeout.aborted) return await resultOf(found, true);
      if (!isNotified) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    unfollow();
    timeout.removeEventListener("abort", wakeUp);
  }

  function isWorthReturning({ row, requests, isContinuing }: Found): boolean {
    if (isOver(row.status)) return true;
    const isAtRest = activityOf(row) === "idle" && !isContinuing;
    return row.applied_seq > sinceSeq && (isAtRest || requests.length > 0);
  }

  async function read(): Promise<Found> {
    const [[row], requests] = await sql.together(
      query(selectSession, sql.organizationId, id),
      query(newest.pending.ofSession.rows, sql.organizationId, lastId, mostRequests, id),
    );
    if (!row) throw notFound("session");
    const isContinuing =
      row.turn_outcome === "failed" &&
      (await sql.first(selectContinuing, sql.organizationId, id, row.turn_id)) !== undefined;
    return { row, requests: requests.map(requestRecord), isContinuing };
  }

  async function resultOf(found: Found, timedOut: boolean): Promise<ResultOf<Wait>> {
    const { row, requests } = found;
    return {
      sessionId: formatId("session", row.session_id),
      status: row.status,
      statusReason: row.status_reason,
      statusMessage: statusMessage(row),
      reachable: row.reachable,
      activity: activityOf(row),
      turnId: row.turn_id,
      turnOutcome: row.turn_outcome,
      turnReason: await turnReason(found),
      queuedTurnIds: row.queued_turns,
      runningShellIds: isOver(row.status) ? [] : row.running_shells,
      pendingRequests: requests,
      lastMessage: await lastMessage(row),
      lastSeq: row.applied_seq,
      timedOut,
    };
  }

  async function turnReason({ row, isContinuing }: Found) {
    const { session_id, turn_id, turn_outcome, applied_seq } = row;
    if (turn_id === null || turn_outcome === null || turn_outcome === "completed") return null;
    const key = [sql.organizationId, session_id] as const;
    const window = [applied_seq - mostLookedAt, applied_seq, turn_id, longestMessage] as const;
    const end = await sql.first(selectTurnReasonOf(session_id), ...key, ...window);
    return end ? explainTurn(row, end, isContinuing) : null;
  }

  async function lastMessage({ session_id, turn_id, applied_seq }: SessionRow) {
    if (turn_id === null) return null;
    const after = Math.max(sinceSeq, applied_seq - mostLookedAt, 0);
    const key = [sql.organizationId, session_id] as const;
    const window = [after, applied_seq, turn_id, longestMessage] as const;
    const found = await sql.first(selectMessageOf(session_id), ...key, ...window);
    if (!found) return null;
    const { seq, text, length } = found;
    return { seq, text, isCut: length > longestMessage };
  }
}
