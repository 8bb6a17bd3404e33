// S5: how reads and writes of the session log and the audit trail grow with time. A read from a log of
// years is compared with the same read from its one partition, and an audit entry with one in a table
// without partitions and keys.
import { openAuditStage } from "@hawser/testkit/audit-stage.ts";
import { openLogStage, type LogSize, type LogStage } from "@hawser/testkit/log-stage.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { forMeasuring, startPostgres, type PostgresCluster } from "@hawser/testkit/postgres.ts";
import { atLeast, atMost, reported, type Figure } from "./figure.ts";
import { median } from "./fit.ts";
import { say } from "./stage.ts";

interface SchemaSize {
  log: Omit<LogSize, "partitions">;
  /** Reads of a page of 200 entries; single entries are read ten times as often. */
  reads: number;
  reports: { hosts: number; rounds: number };
  audit: { rounds: number; seconds: number };
}

export const schemaSizes: Record<"large" | "small", SchemaSize> = {
  large: {
    log: { sessions: 10, entries: 300 },
    reads: 400,
    reports: { hosts: 60, rounds: 150 },
    audit: { rounds: 15, seconds: 1 },
  },
  small: {
    log: { sessions: 2, entries: 300 },
    reads: 10,
    reports: { hosts: 10, rounds: 10 },
    audit: { rounds: 1, seconds: 0.3 },
  },
};

/** 16 are a year with the periods that are created ahead. */
const partitionCounts = [4, 16, 56];
const pages = { page: 200, entry: 1 };

export async function measureSchema(size: SchemaSize): Promise<Figure[]> {
  await using cluster = await startPostgres(forMeasuring);
  const figures: Figure[] = [];
  for (const partitions of partitionCounts) {
    say(`a log of ${partitions} partitions`);
    await using stage = await openLogStage(cluster, { ...size.log, partitions });
    for (const [name, page] of Object.entries(pages)) {
      const ratio = await readRatio(stage, page, size);
      figures.push(atLeast(`schema_read_${name}_${partitions}_partitions`, ratio, 0.9));
    }
    if (partitions !== partitionCounts.at(-1)) continue;
    figures.push(...(await measureWrites(stage, size)));
  }
  figures.push(await measureAudit(cluster, size));
  return figures;
}

/**
 * Reads of the log beside reads of its partition; 1 is equally fast. They alternate, so that both find the
 * machine equally busy.
 */
async function readRatio(stage: LogStage, page: number, { reads }: SchemaSize): Promise<number> {
  const times = page > 1 ? reads : reads * 10;
  const ofLog: number[] = [];
  const ofPartition: number[] = [];
  for (let n = 0; n < 1.2 * times; n++) {
    ofLog.push(await stage.read("log", page));
    ofPartition.push(await stage.read("partition", page));
  }
  // The first are not counted: statements are prepared, and code is compiled.
  return median(ofPartition.slice(-times)) / median(ofLog.slice(-times));
}

async function measureWrites(stage: LogStage, { reports }: SchemaSize): Promise<Figure[]> {
  const { url } = stage;
  await ownerSql(url, "CHECKPOINT");
  let stored = 0;
  const walOfReports = await walBytes(url, async () => {
    stored = await stage.report(reports.hosts, reports.rounds);
  });
  let removed = 0;
  const startedAt = performance.now();
  const walOfExpiry = await walBytes(url, async () => {
    removed = await stage.expireOldest();
  });
  const expirySeconds = (performance.now() - startedAt) / 1000;
  return [
    atMost("schema_wal_bytes_per_entry", walOfReports / stored, 1_600),
    // Deleting a row writes at least 50 bytes for it.
    atMost("schema_expiry_wal_bytes_per_entry", walOfExpiry / removed, 25),
    reported("schema_expiry_seconds", expirySeconds),
  ];
}

async function measureAudit(
  cluster: PostgresCluster,
  { audit: { rounds, seconds } }: SchemaSize,
): Promise<Figure> {
  say("audit entries of one organization");
  await using stage = await openAuditStage(cluster);
  const ratios: number[] = [];
  for (let round = -2; round < rounds; round++) {
    const trail = await stage.insert("audit trail", seconds);
    const keyless = await stage.insert("keyless table", seconds);
    if (round >= 0) ratios.push(trail / keyless);
  }
  return atLeast("schema_audit_inserts_one_organization", median(ratios), 0.9);
}

async function walBytes(url: string, work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    const [row] = await ownerSql<{ bytes: number }>(
      url,
      `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
    );
    return row!.bytes;
  };
  const before = await read();
  await work();
  return (await read()) - before;
}
