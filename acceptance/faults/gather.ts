// Reads the results of a run: the hosts' journals, after their processes have ended, and the logs that the
// service has stored.
import { DatabaseSync } from "node:sqlite";
import { formatId } from "@hawser/contract";
import type { JournalHost } from "@hawser/testkit/journal-host.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { JournalCommand } from "./command-records.ts";
import type { Entry, History, Host } from "./history.ts";

export function readHost({ instanceId, journalFile, deaths }: JournalHost): Host {
  const journal = new DatabaseSync(journalFile);
  try {
    const effects = journal
      .prepare(`SELECT value FROM counters WHERE name = 'refresh_host_facts'`)
      .get() as { value: number } | undefined;
    const commands = journal
      .prepare(
        `SELECT id, begun_at AS begunAt, finished_at AS finishedAt, outcome FROM commands
          WHERE command = 'refresh_host_facts' ORDER BY begun_at`,
      )
      .all() as unknown as (JournalCommand & { outcome: string | null })[];
    return {
      instanceId,
      effects: effects?.value ?? 0,
      commands: commands.map((row) => ({
        ...row,
        outcome: row.outcome && (JSON.parse(row.outcome) as JournalCommand["outcome"]),
      })),
      sessions: readLogs(journal),
      deaths,
    };
  } finally {
    journal.close();
  }
}

/** The logs in the journal of a host that has ended. */
export function readLogs(journal: DatabaseSync): Host["sessions"] {
  const rows = journal
    .prepare(`SELECT session_id, entry FROM entries ORDER BY session_id, seq`)
    .all() as { session_id: string; entry: string }[];
  const sessions = Map.groupBy(rows, ({ session_id }) => session_id);
  return [...sessions].map(([sessionId, own]) => ({
    sessionId,
    entries: own.map(({ entry }) => JSON.parse(entry) as Entry),
  }));
}

interface LogRow {
  session_id: string;
  seq: string;
  at: Date;
  turn_id: string | null;
  update: Record<string, unknown>;
}

export async function readStored(databaseUrl: string): Promise<History["stored"]> {
  const sessions = await ownerSql<{ session_id: string; applied_seq: string }>(
    databaseUrl,
    `SELECT session_id, applied_seq FROM sessions`,
  );
  const rows = await ownerSql<LogRow>(
    databaseUrl,
    `SELECT session_id, seq, at, turn_id, update FROM session_log ORDER BY session_id, seq`,
  );
  const logs = Map.groupBy(rows, ({ session_id }) => session_id);
  return sessions.map(({ session_id, applied_seq }) => ({
    sessionId: formatId("session", session_id),
    appliedSeq: Number(applied_seq),
    entries: (logs.get(session_id) ?? []).map((row) => ({
      seq: Number(row.seq),
      at: row.at.toISOString(),
      turnId: row.turn_id,
      update: row.update,
    })),
  }));
}
