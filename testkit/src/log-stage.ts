// A session log that covers years, without hosts: for measuring how its reads and writes grow with the
// number of partitions.
import { formatId, parseId } from "@hawser/contract";
import { createLog } from "@hawser/control-plane/log.ts";
import { dropExpiredPartitions } from "@hawser/control-plane/postgres/partitions.ts";
import { statement } from "@hawser/control-plane/postgres/statement.ts";
import { selectEntriesOf } from "@hawser/control-plane/session-log/follow-store.ts";
import { createIntake } from "@hawser/control-plane/session-log/intake.ts";
import { createTestOrganization } from "./organization.ts";
import { ownerSql } from "./owner-sql.ts";
import { borrowed, type PostgresCluster } from "./postgres.ts";
import { openServiceDatabase } from "./service-database.ts";

export interface LogStage extends AsyncDisposable {
  /** Connects as the owner of the tables. */
  url: string;
  /**
   * Reads a page of entries of a session that began a year ago, or in the oldest period if that is later:
   * from the log as a node does, or from the one partition directly. Returns microseconds.
   */
  read(from: "log" | "partition", page: number): Promise<number>;
  /** Stores entries as a node does: in each round, each of the hosts reports one. Returns their number. */
  report(hosts: number, rounds: number): Promise<number>;
  /** Shortens the retention so that the oldest period has expired, and purges. Returns the entries removed. */
  expireOldest(): Promise<number>;
}

const text = "The test failed because the cart was empty. ".repeat(12);
const update = {
  sessionUpdate: "agent_message_chunk",
  messageId: "msg_01",
  content: { type: "text", text },
};
const maxBytes = 4 * 1024 * 1024;

export interface LogSize {
  /** Number of periods, of which the last is the current one. */
  partitions: number;
  /** Sessions of each period. */
  sessions: number;
  /** Entries of each session. */
  entries: number;
}

/** The log is in a database of its own. */
export async function openLogStage(cluster: PostgresCluster, size: LogSize): Promise<LogStage> {
  const { partitions, entries } = size;
  const service = await openServiceDatabase({ cluster: borrowed(cluster), connections: 1 });
  const { database, url } = service;
  const made = await createTestOrganization(database, "Acme", "owner@acme.example");
  const organizationId = parseId("organization", made.organizationId)!;
  await ownerSql(url, addPeriods, [partitions]);
  await ownerSql(url, fillPeriods, [
    partitions,
    size.sessions,
    entries,
    organizationId,
    JSON.stringify(update),
  ]);
  await ownerSql(url, "VACUUM (ANALYZE) session_log");
  const [partition] = await ownerSql<{ name: string; sessions: string[] }>(url, selectRead, [
    Math.min(partitions - 1, 12),
    size.sessions,
  ]);
  const { name, sessions } = partition!;
  await ownerSql(
    url,
    `GRANT SELECT ON ${name} TO hawser_app;
     CREATE POLICY tenant ON ${name} TO hawser_app USING (organization_id = hawser_organization())`,
  );
  const ofLog = selectEntriesOf(sessions[0]!);
  const reads = { log: ofLog, partition: statement(ofLog.text.replaceAll("session_log", name)) };
  const sql = database.tenant(organizationId);
  return {
    url,
    async read(from, page) {
      const sessionId = sessions[Math.floor(Math.random() * sessions.length)];
      const after = Math.floor(entries / 4);
      const startedAt = performance.now();
      const rows = await sql.rows(reads[from], organizationId, sessionId, after, page, maxBytes);
      const tookMs = performance.now() - startedAt;
      if (rows.length !== page) throw new Error(`Read ${rows.length} of ${page} entries.`);
      return tookMs * 1000;
    },
    async report(hosts, rounds) {
      const rows = await ownerSql<{ instance_id: string; session_id: string }>(url, addHosts, [
        organizationId,
        hosts,
      ]);
      const intake = createIntake({ database, onApplied: () => {}, log: createLog("warn") });
      for (let seq = 1; seq <= rounds; seq++) {
        const at = new Date().toISOString();
        const replies = await Promise.all(
          rows.map(({ instance_id: instanceId, session_id }) => {
            const sessionId = formatId("session", session_id);
            const sessions = [{ sessionId, entries: [{ seq, at, turnId: "turn_1", update }] }];
            return intake.accept(
              { organizationId, instanceId },
              { journalId: "log stage", sessions },
            );
          }),
        );
        const failed = replies.find((reply) => !("applied" in reply));
        if (failed) throw new Error(`A report was answered ${JSON.stringify(failed)}.`);
      }
      await intake.close();
      return hosts * rounds;
    },
    async expireOldest() {
      await ownerSql(url, keepAllButOldest, [partitions]);
      const dropped = await dropExpiredPartitions(database.system);
      const logs = dropped.filter(({ partitioned }) => partitioned === "session_log");
      if (logs.length !== 1) throw new Error(`${logs.length} periods were dropped instead of one.`);
      return size.sessions * entries;
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

const addPeriods = `
  SELECT hawser_add_partition('session_log', hawser_period_start('session_log', current_date) - 28 * n)
    FROM generate_series(0, $1::int - 1) n`;

/** The id of session $2 of the period that began $1 periods ago. */
const sessionId = (periodsAgo: string, number: string) =>
  `(left(hawser_partition_bound('session_log',
       hawser_period_start('session_log', current_date) - 28 * ${periodsAgo}), 12)
     || '7abc8' || lpad(to_hex(${number}), 15, '0'))::uuid`;

const fillPeriods = `
  INSERT INTO session_log (session_id, seq, organization_id, at, turn_id, update)
  SELECT ${sessionId("period", "session")}, seq, $4::uuid, now(), 'turn_1', $5::jsonb
    FROM generate_series(0, $1::int - 1) period, generate_series(1, $2::int) session,
         generate_series(1, $3::int) seq`;

const selectRead = `
  SELECT hawser_partition_name('session_log', hawser_period_start('session_log', current_date) - 28 * $1::int) AS name,
         array_agg(${sessionId("$1::int", "session")}) AS sessions
    FROM generate_series(1, $2::int) session`;

const keepAllButOldest = `
  UPDATE organizations SET log_retention_days =
    current_date - hawser_period_start('session_log', current_date) + 28 * ($1::int - 2) - 29`;

const addHosts = `
  WITH hosts AS (INSERT INTO instances (organization_id, name)
                 SELECT $1, 'host ' || n FROM generate_series(1, $2::int) n RETURNING instance_id)
  INSERT INTO sessions (organization_id, instance_id, agent_kind, directory, started_by)
  SELECT $1, instance_id, 'codex', '/srv/code', '{"type": "user", "id": "usr_x", "name": "ada"}'
    FROM hosts RETURNING instance_id, session_id`;
