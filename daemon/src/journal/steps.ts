// The journal's version and the numbered steps that lead to it (decision 0028). A journal's version,
// SQLite's user_version, is the number of the last step that it has taken.
//
// A step only adds: tables, indexes, columns that may be null or have a default. So the daemon of the
// former version can use the journal when an update to this one fails after the step.
import type { DatabaseSync } from "node:sqlite";
import { daemonVersion } from "../release.ts";
import { firstLayout } from "./first-layout.ts";

export interface Step {
  sql: string;
  /** The oldest version that a daemon must know to use the journal after this step. */
  readableFrom: number;
}

/** Step 1 is the first. A released step is never edited; a change is a further step. */
export const journalSteps: readonly Step[] = [
  { sql: firstLayout, readableFrom: 1 },
  // What the agent of a fork reads with its first prompt. Not among the session's facts, which are written again
  // with every change. A daemon that does not know the table prompts the agent without it.
  {
    sql: `CREATE TABLE conversations (session_id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT`,
    readableFrom: 1,
  },
  // Who stored a rule and when, and how often it has decided. A daemon that does not know the columns stores rules
  // without them.
  {
    sql: `ALTER TABLE remembered_rules ADD COLUMN by_user TEXT;
          ALTER TABLE remembered_rules ADD COLUMN remembered_at INTEGER;
          ALTER TABLE remembered_rules ADD COLUMN uses INTEGER NOT NULL DEFAULT 0`,
    readableFrom: 1,
  },
];

/** A newer daemon changed the journal in a way that this one cannot read. */
export class JournalTooNew extends Error {}

/**
 * Takes the steps that the journal lacks. Call it in a transaction, so that a step that fails leaves
 * the journal at its old version. Throws JournalTooNew if this daemon cannot use the journal; a
 * newer journal that it can use stays as it is.
 */
export function takeSteps(database: DatabaseSync, steps: readonly Step[], path: string): void {
  const version = versionOf(database);
  if (version > steps.length) {
    assertReadable(database, { version, known: steps.length, path });
    return;
  }
  for (const [index, { sql, readableFrom }] of steps.entries()) {
    const number = index + 1;
    if (number <= version) continue;
    database.exec(sql);
    database
      .prepare(
        "INSERT INTO journal_steps (version, readable_from, daemon_version) VALUES (?, ?, ?)",
      )
      .run(number, readableFrom, daemonVersion);
    database.exec(`PRAGMA user_version = ${number}`);
  }
}

export function versionOf(database: DatabaseSync): number {
  return database.prepare("PRAGMA user_version").get()!["user_version"] as number;
}

function assertReadable(
  database: DatabaseSync,
  { version, known, path }: { version: number; known: number; path: string },
): void {
  const row = database
    .prepare("SELECT readable_from, daemon_version FROM journal_steps WHERE version = ?")
    .get(version) as { readable_from: number; daemon_version: string } | undefined;
  if (row && row.readable_from <= known) return;
  const writer = row ? `daemon ${row.daemon_version}` : "a newer daemon";
  const remedy = row ? `daemon ${row.daemon_version} or a later one` : "the newer daemon";
  throw new JournalTooNew(
    `The journal at ${path} was written by ${writer} and has version ${version}. ` +
      `This daemon, ${daemonVersion}, reads journals up to version ${known}. ` +
      `The journal was not changed. Install ${remedy} on this host again.`,
  );
}
