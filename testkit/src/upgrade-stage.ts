// For measuring an upgrade beside traffic: many instances without hosts, readers that stay, and migrations
// that are not the product's own.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { formatId, parseId } from "@hawser/contract";
import { migrate } from "@hawser/control-plane/postgres/migrate.ts";
import { holdRow } from "./hold-row.ts";
import type { TestOrganization } from "./organization.ts";
import { ownerSql } from "./owner-sql.ts";
import { removeDirectory } from "./remove-directory.ts";

const atOnce = 100_000;
const mostIds = 1_000;

/**
 * Adds offline instances, named `stored` and a number, without running the trigger that counts them one by
 * one. Returns the ids of some of them.
 */
export async function insertInstances(
  databaseUrl: string,
  organization: TestOrganization,
  count: number,
): Promise<string[]> {
  const organizationId = parseId("organization", organization.organizationId);
  for (let first = 1; first <= count; first += atOnce) {
    const last = Math.min(count, first + atOnce - 1);
    await ownerSql(
      databaseUrl,
      `BEGIN;
       SET LOCAL session_replication_role = replica;
       INSERT INTO instances (organization_id, name, status, status_reason, host, daemon_version)
       SELECT '${organizationId}', 'stored ' || lpad(n::text, 7, '0'), 'offline', 'link_lost',
              '{"hostname": "box", "os": "Debian GNU/Linux 12", "arch": "x64"}', '0.1.0'
         FROM generate_series(${first}, ${last}) AS n;
       UPDATE organizations SET instance_count = instance_count + ${last - first + 1}
        WHERE organization_id = '${organizationId}';
       COMMIT`,
    );
  }
  await ownerSql(databaseUrl, "VACUUM ANALYZE instances");
  const rows = await ownerSql<{ instance_id: string }>(
    databaseUrl,
    `SELECT instance_id FROM instances WHERE name LIKE 'stored %' ORDER BY random() LIMIT ${mostIds}`,
  );
  return rows.map(({ instance_id }) => formatId("instance", instance_id));
}

/** A transaction that has read all instances, and stays open with its snapshot and its lock. */
export function openReader(databaseUrl: string): Promise<AsyncDisposable> {
  return holdRow(
    databaseUrl,
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM instances",
  );
}

/** Runs one file as `hawser-control-plane migrate` does. */
export async function runMigration(
  databaseUrl: string,
  name: string,
  text: string,
  say: (line: string) => void,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "hawser-upgrade-"));
  try {
    writeFileSync(join(directory, name), text);
    await migrate(databaseUrl, { folder: pathToFileURL(`${directory}/`), say });
  } finally {
    removeDirectory(directory);
  }
}
