// The daemon's memory: which commands it carried out, and what its sessions did that the control
// plane has not taken yet. Everything is on disk before it is acted on, told or sent. One process
// holds a journal at a time; a daemon that dies leaves it as it was.
import { randomUUID } from "node:crypto";
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { createCommandRecord, type CommandRecord } from "./command-record.ts";
import { openDatabase, transact } from "./database.ts";
import { createDrivenSessions, type DrivenSessions } from "./driven-sessions.ts";
import { createKeptBlobs, type KeptBlobs } from "./kept-blobs.ts";
import { createKeptMessages, type KeptMessages } from "./kept-messages.ts";
import { createSessionLog, readFact, writeFact, type SessionLog } from "./session-log.ts";

export { JournalFull, JournalInUse } from "./database.ts";
export { JournalTooNew } from "./steps.ts";

export interface Journal {
  /** Made with the journal; another one means that the former is gone. */
  id: string;
  commands: CommandRecord;
  log: SessionLog;
  blobs: KeptBlobs;
  driven: DrivenSessions;
  messages: KeptMessages;
  /** Counts one more, and gives the new count. */
  count(name: string): number;
  /** Everything written by the function is one commit. */
  atOnce<Result>(work: () => Result): Result;
  /** Drops what has been kept long enough. */
  clean(): void;
  close(): void;
}

export interface JournalOptions {
  /** The time in milliseconds, by the control plane's clock where it is known. */
  now?: () => number;
  /** At most this many bytes of entries; by default 1 GiB, or a tenth of a small disk. */
  limitBytes?: number;
  /** False: survives the death of the process, but not of the machine. For tests with many hosts. */
  flush?: boolean;
}

const dayMs = 24 * 3600_000;
/** A caller may repeat a call for a day, so its command is remembered for longer than that. */
const commandsKeptMs = 2 * dayMs;
const appliedKeptMs = dayMs;
/** For longer than anybody would ask for a session that has ended. */
const endedKeptMs = 30 * dayMs;

export function openJournal(path: string, options: JournalOptions = {}): Journal {
  const now = options.now ?? Date.now;
  const database = openDatabase(path, options.flush ?? true);
  const id = transact(database, () => {
    const known = readFact(database, "journal_id");
    if (known !== undefined) return known;
    const made = randomUUID();
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
