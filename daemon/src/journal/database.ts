// The journal's file: SQLite, flushed to disk at every commit, held by one process at a time.
import { chmodSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const schema = `
  CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

  -- A command is written before it is acted on, and its outcome before it is told.
  CREATE TABLE IF NOT EXISTS commands (
    id TEXT PRIMARY KEY,
    command TEXT NOT NULL,
    begun_at INTEGER NOT NULL,
    finished_at INTEGER,
    outcome TEXT
  ) WITHOUT ROWID;

  -- A session stays after its entries have gone, so that its numbers go on where they were.
  CREATE TABLE IF NOT EXISTS sessions (
    session_id TEXT PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    -- The last opening in which the control plane said how far it has the log; entries of later ones
    -- were never sent.
    introduced INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;

  CREATE TABLE IF NOT EXISTS entries (
    -- The order of writing, and so of sending.
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    -- Which opening of the journal wrote it.
    opening INTEGER NOT NULL,
    applied_at INTEGER,
    bytes INTEGER NOT NULL,
    entry TEXT NOT NULL,
    UNIQUE (session_id, seq)
  );
  CREATE INDEX IF NOT EXISTS entries_to_send ON entries (position) WHERE applied_at IS NULL;
  CREATE INDEX IF NOT EXISTS entries_unapplied ON entries (session_id, seq) WHERE applied_at IS NULL;
  CREATE INDEX IF NOT EXISTS entries_applied ON entries (session_id, seq) WHERE applied_at IS NOT NULL;
  CREATE INDEX IF NOT EXISTS entries_to_drop ON entries (applied_at) WHERE applied_at IS NOT NULL;

  -- An entry that was cut waits here until the control plane has its whole, which lies in a file. Until
  -- then neither it nor what follows it in its session is sent.
  CREATE TABLE IF NOT EXISTS pending_blobs (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (session_id, seq)
  ) WITHOUT ROWID;
  CREATE TRIGGER IF NOT EXISTS pending_entry_removed AFTER DELETE ON entries BEGIN
    DELETE FROM pending_blobs WHERE session_id = OLD.session_id AND seq = OLD.seq;
  END;
  CREATE TRIGGER IF NOT EXISTS pending_entry_marked AFTER UPDATE OF applied_at ON entries
    WHEN NEW.applied_at IS NOT NULL BEGIN
    DELETE FROM pending_blobs WHERE session_id = NEW.session_id AND seq = NEW.seq;
  END;

  -- Kept, not counted: a journal may hold millions of entries.
  CREATE TABLE IF NOT EXISTS size (total INTEGER NOT NULL, unapplied INTEGER NOT NULL);
  INSERT INTO size SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM size);
  CREATE TRIGGER IF NOT EXISTS entry_added AFTER INSERT ON entries BEGIN
    UPDATE size SET total = total + NEW.bytes,
      unapplied = unapplied + iif(NEW.applied_at IS NULL, NEW.bytes, 0);
  END;
  CREATE TRIGGER IF NOT EXISTS entry_removed AFTER DELETE ON entries BEGIN
    UPDATE size SET total = total - OLD.bytes,
      unapplied = unapplied - iif(OLD.applied_at IS NULL, OLD.bytes, 0);
  END;
  CREATE TRIGGER IF NOT EXISTS entry_marked AFTER UPDATE OF applied_at ON entries BEGIN
    UPDATE size SET unapplied = unapplied
      + iif(NEW.applied_at IS NULL, NEW.bytes, 0) - iif(OLD.applied_at IS NULL, OLD.bytes, 0);
  END;
  CREATE TRIGGER IF NOT EXISTS blob_added AFTER INSERT ON pending_blobs BEGIN
    UPDATE size SET total = total + NEW.bytes, unapplied = unapplied + NEW.bytes;
  END;
  CREATE TRIGGER IF NOT EXISTS blob_removed AFTER DELETE ON pending_blobs BEGIN
    UPDATE size SET total = total - OLD.bytes, unapplied = unapplied - OLD.bytes;
  END;
`;

/** Another process has the journal. */
export class JournalInUse extends Error {}

/** There is no room to record anything more. */
export class JournalFull extends Error {}

export function openDatabase(path: string, flush: boolean): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    chmodSync(path, 0o600);
    database.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA synchronous = ${flush ? "FULL" : "OFF"};
      PRAGMA auto_vacuum = INCREMENTAL;
      PRAGMA journal_mode = WAL;
      PRAGMA journal_size_limit = 16777216;
      BEGIN IMMEDIATE;
      ${schema}
      COMMIT;
    `);
    return database;
  } catch (error) {
    database.close();
    if (codeOf(error) === sqliteFull) throw full(error);
    if (codeOf(error) !== sqliteBusy) throw error;
    const message = `Another daemon is using the journal at ${path}. Stop it first.`;
    throw new JournalInUse(message, { cause: error });
  }
}

const sqliteBusy = 5;
const sqliteFull = 13;

/**
 * Runs the function in one transaction: all of it is on disk when this returns, or none. Inside
 * another it is a part of that one.
 */
export function transact<Result>(database: DatabaseSync, work: () => Result): Result {
  if (database.isTransaction) return work();
  try {
    database.exec("BEGIN IMMEDIATE");
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    // SQLite has rolled back by itself after some errors, such as a full disk.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw codeOf(error) === sqliteFull ? full(error) : error;
  }
}

function full(cause: unknown): JournalFull {
  const message = "The disk is full, so the journal can record nothing. Free some space.";
  return new JournalFull(message, { cause });
}

function codeOf(error: unknown): number | undefined {
  const code = (error as { errcode?: number }).errcode;
  // The upper bits only refine the code.
  return code === undefined ? undefined : code & 0xff;
}
