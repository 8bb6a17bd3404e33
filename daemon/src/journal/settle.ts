// Brings one session's log in line with what the control plane has applied. Usually this only marks
// entries as applied or unapplied. If the journal is new, or was restored from an older copy, the control
// plane has entries that the journal lacks. Then the log continues after the applied entries: first an
// entry that reports the reset, then the entries that were never sent, under new numbers.
import type { DatabaseSync } from "node:sqlite";
import type { LogEntry } from "@hawser/host-protocol";

export interface SessionPosition {
  sessionId: string;
  appliedSeq: number;
}

export interface Settling {
  database: DatabaseSync;
  now: () => number;
  journalId: string;
  /** Number of this opening of the journal. */
  opening: number;
  lastSeq: (sessionId: string) => number;
  setLast: (sessionId: string, seq: number) => void;
  write: (sessionId: string, entry: LogEntry) => void;
}

export function settle(log: Settling, { sessionId, appliedSeq }: SessionPosition): void {
  const { database } = log;
  const introduced = introducedIn(database, sessionId);
  const neverSent = introduced === log.opening ? 0 : countNewer(database, sessionId, introduced);
  const mayHaveBeenSent = log.lastSeq(sessionId) - neverSent;
  if (appliedSeq > mayHaveBeenSent) {
    reset(log, sessionId, appliedSeq, `opening > ${introduced}`);
    return;
  }
  const oldest = database
    .prepare(`SELECT min(seq) AS seq FROM entries WHERE session_id = ? AND seq > ?`)
    .get(sessionId, appliedSeq)!["seq"] as number | null;
  // The control plane lacks entries that are no longer here, as after its backup was restored.
  if ((oldest ?? log.lastSeq(sessionId) + 1) > appliedSeq + 1) {
    reset(log, sessionId, appliedSeq, `seq > ${appliedSeq}`);
    return;
  }
  database
    .prepare(
      `UPDATE entries INDEXED BY entries_unapplied SET applied_at = ?
       WHERE session_id = ? AND seq <= ? AND applied_at IS NULL`,
    )
    .run(log.now(), sessionId, appliedSeq);
  database
    .prepare(
      `UPDATE entries INDEXED BY entries_applied SET applied_at = NULL
       WHERE session_id = ? AND seq > ? AND applied_at IS NOT NULL`,
    )
    .run(sessionId, appliedSeq);
}

function introducedIn(database: DatabaseSync, sessionId: string): number {
  const row = database
    .prepare(`SELECT introduced FROM sessions WHERE session_id = ?`)
    .get(sessionId);
  return (row?.["introduced"] as number | undefined) ?? 0;
}

function countNewer(database: DatabaseSync, sessionId: string, opening: number): number {
  return database
    .prepare(`SELECT count(*) AS count FROM entries WHERE session_id = ? AND opening > ?`)
    .get(sessionId, opening)!["count"] as number;
}

/** Continues at appliedSeq + 1 with the entries of `kept`; all others were applied or are lost. */
function reset(log: Settling, sessionId: string, appliedSeq: number, kept: string): void {
  const moved = log.database
    .prepare(`SELECT entry FROM entries WHERE session_id = ? AND ${kept} ORDER BY seq`)
    .all(sessionId)
    .map((row) => JSON.parse(row["entry"] as string) as LogEntry);
  // The control plane has entries with the numbers up to appliedSeq, so entries here lose those numbers.
  log.database.prepare(`DELETE FROM entries WHERE session_id = ?`).run(sessionId);
  log.setLast(sessionId, appliedSeq);
  log.write(sessionId, {
    seq: appliedSeq + 1,
    at: new Date(log.now()).toISOString(),
    turnId: null,
    update: { sessionUpdate: "journal_reset", journalId: log.journalId },
  });
  for (const [index, entry] of moved.entries()) {
    log.write(sessionId, { ...entry, seq: appliedSeq + 2 + index });
  }
}
