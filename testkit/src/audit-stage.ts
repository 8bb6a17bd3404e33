// The audit trail of one organization that many callers write to at once, beside the same table without
// partitions and without foreign keys: for measuring what the two cost.
import { parseId } from "@hawser/contract";
import { insertEntry } from "@hawser/control-plane/audit/store.ts";
import { makeNextPartitions } from "@hawser/control-plane/postgres/partitions.ts";
import { statement } from "@hawser/control-plane/postgres/statement.ts";
import { createTestOrganization } from "./organization.ts";
import { ownerSql } from "./owner-sql.ts";
import { borrowed, type PostgresCluster } from "./postgres.ts";
import { openServiceDatabase } from "./service-database.ts";

export interface AuditStage extends AsyncDisposable {
  /** Inserts entries of one organization over all connections, one transaction each. Returns inserts a second. */
  insert(into: "audit trail" | "keyless table", seconds: number): Promise<number>;
}

const connections = 8;

/** The trail is in a database of its own. */
export async function openAuditStage(cluster: PostgresCluster): Promise<AuditStage> {
  const service = await openServiceDatabase({ cluster: borrowed(cluster), connections });
  const { database, url } = service;
  await makeNextPartitions(database.system);
  const made = await createTestOrganization(database, "Acme", "owner@acme.example");
  const organizationId = parseId("organization", made.organizationId)!;
  await ownerSql(
    url,
    `CREATE TABLE keyless (LIKE audit_entries INCLUDING ALL);
     ALTER TABLE keyless ENABLE ROW LEVEL SECURITY;
     CREATE POLICY tenant ON keyless TO hawser_app
       USING (organization_id = hawser_organization())
       WITH CHECK (organization_id = hawser_organization());
     GRANT SELECT, INSERT ON keyless TO hawser_app`,
  );
  const statements = {
    "audit trail": insertEntry,
    "keyless table": statement(insertEntry.text.replace("audit_entries", "keyless")),
  };
  const input = { instanceId: "ins_01m7ebet84fys947x1xp1bg4m9", name: "build host" };
  const values = [
    organizationId,
    null,
    null,
    null,
    "update_instance",
    "done",
    input,
    input,
    "call",
    null,
  ];
  const sql = database.tenant(organizationId);
  return {
    async insert(into, seconds) {
      let inserted = 0;
      const startedAt = performance.now();
      const endsAt = startedAt + seconds * 1000;
      const insertUntilEnd = async () => {
        while (performance.now() < endsAt) {
          await sql.rows(statements[into], ...values);
          inserted += 1;
        }
      };
      await Promise.all(Array.from({ length: connections }, insertUntilEnd));
      return (inserted * 1000) / (performance.now() - startedAt);
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
