// The content of a database as one digest per table. Two equal fingerprints mean that no row was added,
// removed or written in between, not even with the same values.
import pg from "pg";

// Reads and heartbeats write to these tables, whatever a caller does.
const tablesOfReads = ["audit_reads", "host_sightings", "jobs", "nodes"];
const columnsOfReads: Record<string, string> = { api_keys: "last_used_at" };

/** `url` must connect as a role that sees every row. */
export async function fingerprint(databaseUrl: string): Promise<ReadonlyMap<string, string>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      // The rows of a partition are those of its table.
      `SELECT relname AS name FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
          AND relname <> ALL ($1)
        ORDER BY 1`,
      [tablesOfReads],
    );
    const digests = new Map<string, string>();
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ digest: string }>(
        `SELECT count(*) || ' ' || coalesce(sum(hashtextextended(${contentOf(name)}, 0)), 0) AS digest
           FROM ${pg.escapeIdentifier(name)} AS t`,
      );
      digests.set(name, rows[0]!.digest);
    }
    return digests;
  } finally {
    await client.end();
  }
}

/** A row's content and `xmin`, the transaction that wrote it, which changes with every write. */
function contentOf(table: string): string {
  const touched = columnsOfReads[table];
  if (touched === undefined) return "t.xmin::text || t::text";
  return `(to_jsonb(t) - ${pg.escapeLiteral(touched)})::text`;
}
