// The journal's file: an SQLite database, flushed to disk at every commit. One process at a time opens it.
import { chmodSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { journalSteps, takeSteps } from "./steps.ts";

/** Another process has the journal open. */
export class JournalInUse extends Error {}

/** The disk, or the journal's share of it, has no room for another record. */
export class JournalFull extends Error {}

/** Opens the journal's file and takes the steps that it lacks. */
export function openDatabase(path: string, flush: boolean, steps = journalSteps): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    chmodSync(path, 0o600);
    database.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA synchronous = ${flush ? "FULL" : "OFF"};
      PRAGMA auto_vacuum = INCREMENTAL;
      PRAGMA journal_mode = WAL;
      PRAGMA journal_size_limit = 16777216;
    `);
    transact(database, () => takeSteps(database, steps, path));
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
 * Runs the work in one transaction: when this returns, all that it wrote is on disk; if it throws,
 * nothing is. Inside another transaction, the work becomes a part of that one.
 */
export function transact<Result>(database: DatabaseSync, work: () => Result): Result {
  if (database.isTransaction) return work();
  try {
    database.exec("BEGIN IMMEDIATE");
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    // After some errors, such as a full disk, SQLite has already rolled back.
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
  // The upper bits are a finer code.
  return code === undefined ? undefined : code & 0xff;
}
