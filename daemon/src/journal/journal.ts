// The daemon's durable memory: the commands that it ran, and the log entries of its sessions until the
// control plane has applied them. A record is on disk before the daemon acts on it, replies or sends it.
// One process at a time opens a journal; a daemon that is killed leaves it consistent.
import { randomUUID } from "node:crypto";
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { createCommandRecord, type CommandRecord } from "./command-record.ts";
import { afterCommit, openDatabase, transact } from "./database.ts";
import { createDrivenSessions, type DrivenSessions } from "./driven-sessions.ts";
import { createKeptBlobs, type KeptBlobs } from "./kept-blobs.ts";
import { createKeptMessages, type KeptMessages } from "./kept-messages.ts";
import { createSessionLog, readFact, writeFact, type SessionLog } from "./session-log.ts";

export { JournalFull, JournalInUse } from "./database.ts";
export { JournalTooNew } from "./steps.ts";

export interface Journal {
  /** Identifies this journal. A host with another id has lost its old journal. */
  id: string;
  commands: CommandRecord;
  log: SessionLog;
  blobs: KeptBlobs;
  driven: DrivenSessions;
  messages: KeptMessages;
  /** Adds one to the named counter and returns its new value. */
  count(name: string): number;
  /** Runs the work in one transaction. */
  atOnce<Result>(work: () => Result): Result;
  /** Called once the running commit is on disk; never if it is rolled back. */
  afterCommit(followUp: () => void): void;
  /** Drops the records that are older than the journal keeps them. */
  clean(): void;
  close(): void;
}

export interface JournalOptions {
  /** The time in milliseconds: by the control plane's clock once that is known. */
  now?: () => number;
  /** The id of a new journal; default: one of its own. */
  id?: string;
  /** Limit for the bytes of all entries; by default 1 GiB, or a tenth of a smaller disk. */
  limitBytes?: number;
  /** False: commits survive a killed process, but not a crash of the machine. For tests with many hosts. */
  flush?: boolean;
}

const dayMs = 24 * 3600_000;
/** A caller may repeat a call for a day; commands are kept for longer than that. */
const commandsKeptMs = 2 * dayMs;
const appliedKeptMs = dayMs;
/** Longer than anybody asks for a session that has ended. */
const endedKeptMs = 30 * dayMs;

export function openJournal(path: string, options: JournalOptions = {}): Journal {
  const now = options.now ?? Date.now;
  const database = openDatabase(path, options.flush ?? true);
  const id = transact(database, () => {
    const known = readFact(database, "journal_id");
    if (known !== undefined) return known;
    const made = options.id ?? randomUUID();
    writeFact(database, "journal_id", made);
    return made;
  });
  const commands = createCommandRecord(database, now);
  const limitBytes = options.limitBytes ?? defaultLimit(path);
  const blobs = createKeptBlobs(database, `${path.replace(/\.sqlite$/, "")}.blobs`);
  const log = createSessionLog(database, { now, limitBytes, journalId: id, blobs });
  const driven = createDrivenSessions(database, now);
  const messages = createKeptMessages(database);
  const counter = database.prepare(
    `INSERT INTO counters (name, value) VALUES (?, 1)
     ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value`,
  );
  return {
    id,
    commands,
    log,
    blobs,
    driven,
    messages,
    count: (name) => transact(database, () => counter.get(name)!["value"] as number),
    atOnce: (work) => transact(database, work),
    afterCommit: (followUp) => afterCommit(database, followUp),
    clean() {
      commands.dropFinished(now() - commandsKeptMs);
      log.dropApplied(now() - appliedKeptMs);
      driven.dropEnded(now() - endedKeptMs);
      database.exec("PRAGMA incremental_vacuum");
    },
    close: () => database.close(),
  };
}

function defaultLimit(path: string): number {
  const { blocks, bsize } = statfsSync(dirname(path));
  return Math.min(2 ** 30, (blocks * bsize) / 10);
}
