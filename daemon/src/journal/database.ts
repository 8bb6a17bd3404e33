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

/** What to do once the running transaction of a database is on disk. */
const followUps = new WeakMap<DatabaseSync, (() => void)[]>();

/**
 * Runs the work in one transaction: when this returns, all that it wrote is on disk; if it throws,
 * nothing is. Inside another transaction, the work becomes a part of that one.
 */
export function transact<Result>(database: DatabaseSync, work: () => Result): Result {
  if (database.isTransaction) return work();
  const afterwards: (() => void)[] = [];
  let result: Result;
  try {
    database.exec("BEGIN IMMEDIATE");
    followUps.set(database, afterwards);
    result = work();
    database.exec("COMMIT");
  } catch (error) {
    // After some errors, such as a full disk, SQLite has already rolled back.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw codeOf(error) === sqliteFull ? full(error) : error;
  } finally {
    followUps.delete(database);
  }
  for (const followUp of afterwards) runFollowUp(followUp);
  return result;
}

/**
 * Calls the function once the running transaction is on disk; never if it is rolled back. Throws
 * outside of a transaction.
 */
export function afterCommit(database: DatabaseSync, followUp: () => void): void {
  const afterwards = followUps.get(database);
  if (!afterwards) throw new Error("afterCommit was called outside of a transaction.");
  afterwards.push(followUp);
}

/** The transaction is on disk, so a follow-up that throws must not look like a failed transaction. */
function runFollowUp(followUp: () => void): void {
  try {
    followUp();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
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
