// The logs of this host's sessions until the control plane has applied them. Entries of one session are
// numbered 1, 2, 3 … in the order they were appended, and sent in that order.
import type { DatabaseSync } from "node:sqlite";
import type { LogEntry } from "@hawser/host-protocol";
import { fitEntry, wholeOf } from "./cut-entry.ts";
import { JournalFull, transact } from "./database.ts";
import type { KeptBlobs } from "./kept-blobs.ts";
import { settle, type SessionPosition, type Settling } from "./settle.ts";
import { storable } from "./storable.ts";

export interface SessionBatch {
  sessionId: string;
  entries: LogEntry[];
}

export interface SessionEnd {
  sessionId: string;
  lastSeq: number;
}

type Update = LogEntry["update"];

export interface SessionLog {
  /** The entry is on disk when this returns. Throws JournalFull if there is no room. */
  append(sessionId: string, update: Update, turnId?: string | null): LogEntry;
  /** Number of the session's newest entry; 0 without one. */
  lastSeq(sessionId: string): number;
  /** Sessions that have entries here; those with unapplied entries first. */
  positions(): SessionEnd[];
  /** Sessions with unapplied entries that no hello has named since the journal was opened. */
  newcomers(): SessionEnd[];
  /**
   * Records how far the control plane has applied the log of each session that a hello named. Entries of
   * a session are sent only after that: a journal that was lost and made again would otherwise send
   * numbers that its former entries have.
   */
  welcome(applied: SessionPosition[], named: SessionEnd[]): void;
  /** Lets a new session's entries be sent without a hello: nobody can have written its log before. */
  introduce(sessionId: string): void;
  /** Records how far the control plane has applied the logs, as its answer to a report says. */
  applied(positions: SessionPosition[]): void;
  /** The control plane does not know the session: its entries are not sent again. */
  abandon(sessionId: string): void;
  /** The oldest unapplied entries that may be sent, within these limits; of one session if it is named. */
  unapplied(limits: { bytes: number; entries: number }, sessionId?: string): SessionBatch[];
  unappliedSessions(): string[];
  /** False above half of the limit: running turns continue to record, new ones are refused. */
  acceptsTurns(): boolean;
  size(): { totalBytes: number; unappliedBytes: number; limitBytes: number };
  /** Drops entries that were applied before this time, in milliseconds. */
  dropApplied(before: number): void;
  /** Registers a callback for every append. */
  onAppend(callback: () => void): void;
}

/** Estimated bytes of a row on disk, without its text. */
const rowOverhead = 100;
const mostPositions = 5_000;

export function createSessionLog(
  database: DatabaseSync,
  options: { now: () => number; limitBytes: number; journalId: string; blobs: KeptBlobs },
): SessionLog {
  const { now, limitBytes, journalId, blobs } = options;
  const opening = nextOpening(database);
  const selectLast = database.prepare(`SELECT last_seq FROM sessions WHERE session_id = ?`);
  const setLast = database.prepare(
    `INSERT INTO sessions (session_id, last_seq) VALUES (?, ?)
     ON CONFLICT (session_id) DO UPDATE SET last_seq = excluded.last_seq`,
  );
  const insert = database.prepare(
    `INSERT INTO entries (session_id, seq, opening, bytes, entry) VALUES (?, ?, ?, ?, ?)`,
  );
  const selectSize = database.prepare(`SELECT total, unapplied FROM size`);
  const size = () => selectSize.get() as { total: number; unapplied: number };
  let callbacks: (() => void)[] = [];
  const introduced = new Set<string>();
  const waiting = new Set(
    database
      .prepare(`SELECT DISTINCT session_id FROM entries WHERE applied_at IS NULL`)
      .all()
      .map((row) => row["session_id"] as string),
  );
  const markIntroduced = database.prepare(
    `INSERT INTO sessions (session_id, last_seq, introduced) VALUES (?, 0, ?)
     ON CONFLICT (session_id) DO UPDATE SET introduced = excluded.introduced`,
  );

  function admit(sessionIds: string[]): void {
    for (const sessionId of sessionIds) markIntroduced.run(sessionId, opening);
  }

  function noteAdmitted(sessionIds: string[]): void {
    for (const sessionId of sessionIds) {
      introduced.add(sessionId);
      waiting.delete(sessionId);
    }
  }

  const lastSeq = (sessionId: string) =>
    (selectLast.get(sessionId) as { last_seq: number } | undefined)?.last_seq ?? 0;

  /** Ignores the limit: without its reset entry, the session could never continue. */
  function write(sessionId: string, entry: LogEntry, text: string): void {
    insert.run(sessionId, entry.seq, opening, bytesOf(text), text);
    const whole = wholeOf(entry.update);
    if (whole && blobs.has(whole.sha256)) blobs.await(sessionId, entry.seq, whole);
    setLast.run(sessionId, entry.seq);
  }

  function makeRoom(bytes: number): void {
    const { unapplied } = size();
    if (unapplied + bytes > limitBytes) {
      throw new JournalFull(
        "The journal is full of entries that the control plane has not applied yet. It can record nothing more until they are applied.",
      );
    }
    // Applied entries are kept for convenience only, so the oldest are dropped to make room.
    while (size().total + bytes > limitBytes) {
      database.exec(
        `DELETE FROM entries WHERE position IN (
           SELECT position FROM entries WHERE applied_at IS NOT NULL ORDER BY applied_at LIMIT 100)`,
      );
    }
  }

  const settling: Settling = {
    database,
    now,
    lastSeq,
    setLast: (sessionId, seq) => void setLast.run(sessionId, seq),
    write: (sessionId, entry) => write(sessionId, entry, JSON.stringify(entry)),
    journalId,
    opening,
  };

  return {
    lastSeq,
    append(sessionId, update, turnId = null) {
      const at = new Date(now()).toISOString();
      const seq = lastSeq(sessionId) + 1;
      const { entry, text, whole } = fitEntry({ seq, at, turnId, update: storable(update) });
      transact(database, () => {
        makeRoom(bytesOf(text) + (whole?.bytes.length ?? 0));
        // The blob is on disk before the entry that names it.
        if (whole) blobs.keep(whole);
        write(sessionId, entry, text);
      });
      if (!introduced.has(sessionId)) waiting.add(sessionId);
      for (const callback of callbacks) callback();
      return entry;
    },
    positions: () =>
      database
        .prepare(
          `SELECT session_id AS sessionId, last_seq AS lastSeq FROM sessions
           JOIN (SELECT session_id, max(applied_at IS NULL) AS waits, max(position) AS newest
                 FROM entries GROUP BY session_id) USING (session_id)
           ORDER BY waits DESC, newest DESC LIMIT ${mostPositions}`,
        )
        .all()
        .map((row) => ({ ...row })) as unknown as SessionEnd[],
    newcomers: () =>
      [...waiting]
        .slice(0, mostPositions)
        .map((sessionId) => ({ sessionId, lastSeq: lastSeq(sessionId) })),
    welcome(applied, named) {
      const sessionIds = [...applied, ...named].map(({ sessionId }) => sessionId);
      transact(database, () => {
        for (const position of applied) settle(settling, position);
        admit(sessionIds);
      });
      noteAdmitted(sessionIds);
    },
    introduce(sessionId) {
      transact(database, () => admit([sessionId]));
      noteAdmitted([sessionId]);
    },
    applied(positions) {
      transact(database, () => {
        for (const position of positions) settle(settling, position);
      });
    },
    abandon(sessionId) {
      transact(database, () =>
        database
          .prepare(`UPDATE entries SET applied_at = ? WHERE session_id = ? AND applied_at IS NULL`)
          .run(now(), sessionId),
      );
    },
    unapplied(limits, sessionId) {
      const batches = new Map<string, LogEntry[]>();
      let bytes = 0;
      let count = 0;
      const rows = database
        .prepare(
          `SELECT session_id, entry, bytes FROM entries JOIN sessions USING (session_id)
           WHERE applied_at IS NULL AND introduced = ?1 AND (?2 IS NULL OR session_id = ?2)
             AND NOT EXISTS (SELECT 1 FROM pending_blobs AS blob
                             WHERE blob.session_id = entries.session_id AND blob.seq <= entries.seq)
           ORDER BY position LIMIT ?3`,
        )
        .iterate(opening, sessionId ?? null, limits.entries);
      for (const { session_id, entry, bytes: size } of rows as Iterable<EntryRow>) {
        if (count > 0 && bytes + size > limits.bytes) break;
        bytes += size;
        count++;
        const entries = batches.get(session_id) ?? [];
        entries.push(JSON.parse(entry) as LogEntry);
        batches.set(session_id, entries);
      }
      return [...batches].map(([sessionId, entries]) => ({ sessionId, entries }));
    },
    unappliedSessions: () =>
      database
        .prepare(`SELECT DISTINCT session_id FROM entries WHERE applied_at IS NULL`)
        .all()
        .map((row) => row["session_id"] as string),
    acceptsTurns: () => size().unapplied <= limitBytes / 2,
    size() {
      const { total, unapplied } = size();
      return { totalBytes: total, unappliedBytes: unapplied, limitBytes };
    },
    dropApplied(before) {
      transact(database, () =>
        database.prepare(`DELETE FROM entries WHERE applied_at < ?`).run(before),
      );
    },
    onAppend: (callback) => void (callbacks = [...callbacks, callback]),
  };
}

interface EntryRow {
  session_id: string;
  entry: string;
  bytes: number;
}

const bytesOf = (text: string) => Buffer.byteLength(text) + rowOverhead;

/** Openings of the journal are numbered. An entry's number shows whether it can have been sent. */
function nextOpening(database: DatabaseSync): number {
  return transact(database, () => {
    const opening = Number(readFact(database, "opening") ?? 0) + 1;
    writeFact(database, "opening", String(opening));
    return opening;
  });
}

export function readFact(database: DatabaseSync, name: string): string | undefined {
  const row = database.prepare(`SELECT value FROM facts WHERE name = ?`).get(name);
  return row?.["value"] as string | undefined;
}

export function writeFact(database: DatabaseSync, name: string, value: string): void {
  database
    .prepare(
      `INSERT INTO facts (name, value) VALUES (?, ?)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    )
    .run(name, value);
}
