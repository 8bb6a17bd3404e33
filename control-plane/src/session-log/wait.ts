// Waiting for a session on behalf of a caller that has no stream.
import { formatId, notFound, parseId, type InputOf, type ResultOf } from "@hawser/contract";
import type { sessionTurnActions } from "@hawser/contract";
import type { ReadContext } from "../dispatch/handler.ts";
import { lastId } from "../cursor.ts";
import { query } from "../postgres/statement.ts";
import { requestRecord } from "../requests/listing.ts";
import { selectNewest } from "../requests/store.ts";
import { isOver } from "../sessions/lifecycle.ts";
import { selectSession } from "../sessions/store.ts";
import type { Follows } from "./follow.ts";

type Wait = (typeof sessionTurnActions)["wait_for_session"];

export interface SessionLogServices {
  follows: Follows;
}

const mostRequests = 50;

export async function waitForSession(
  { sql, follows }: ReadContext & SessionLogServices,
  { sessionId, timeoutSeconds = 20, afterSeq = -1 }: InputOf<Wait>,
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
      if (isWorthReturning(found)) return resultOf(found, false);
      if (timeout.aborted) return resultOf(found, true);
      if (!isNotified) await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    unfollow();
    timeout.removeEventListener("abort", wakeUp);
  }

  function isWorthReturning({ row, requests }: Awaited<ReturnType<typeof read>>): boolean {
    if (isOver(row.status)) return true;
    // Between the turns of two queued prompts, the session is idle for a moment.
    const isDone = row.activity === "idle" && row.queued_turns.length === 0;
    return row.applied_seq > afterSeq && (isDone || requests.length > 0);
  }

  async function read() {
    const [[row], requests] = await sql.together(
      query(selectSession, sql.organizationId, id),
      query(selectNewest.pending.ofSession, sql.organizationId, lastId, mostRequests, id),
    );
    if (!row) throw notFound("session");
    return { row, requests: requests.map(requestRecord) };
  }

  function resultOf(
    { row, requests }: Awaited<ReturnType<typeof read>>,
    timedOut: boolean,
  ): ResultOf<Wait> {
    return {
      sessionId: formatId("session", row.session_id),
      status: row.status,
      activity: row.activity,
      turnId: row.turn_id,
      turnOutcome: row.turn_outcome,
      pendingRequests: requests,
      lastSeq: row.applied_seq,
      timedOut,
    };
  }
}
