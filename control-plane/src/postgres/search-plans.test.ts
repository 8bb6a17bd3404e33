// The end of a search's window is found in the index, however many sessions there are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseId } from "@hawser/contract";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import pg from "pg";
import { lastId, mostSearched } from "../cursor.ts";
import { newest } from "../sessions/store.ts";

test("the end of a search's window is found without reading all sessions", async () => {
  await using service = await openServiceDatabase();
  const { url, database } = service;
  const made = await createTestOrganization(database, "acme", "ada@acme.example");
  const organization = parseId("organization", made.organizationId)!;
  await ownerSql(url, "ALTER TABLE sessions DISABLE TRIGGER USER");
  await ownerSql(
    url,
    `WITH host AS (
       INSERT INTO instances (organization_id, name) VALUES ($1, 'a host') RETURNING instance_id)
     INSERT INTO sessions (organization_id, instance_id, title, agent_kind, status, started_by)
     SELECT $1, instance_id, 'title ' || n, 'codex', 'ended', '{}'
       FROM host, generate_series(1, 30000) n`,
    [organization],
  );
  await ownerSql(url, "ANALYZE sessions");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("SET plan_cache_mode = force_generic_plan");
    await client.query("SET ROLE hawser_app");
    await client.query(
      "SELECT set_config('hawser.organization_id', $1, false), set_config('hawser.agent_session_id', '', false)",
      [organization],
    );
    await client.query(`PREPARE search_end AS ${newest.end.text}`);
    const values = `'${organization}', '${lastId}', ${mostSearched - 1}`;
    const { rows } = await client.query<Record<string, string>>(
      `EXPLAIN (ANALYZE, TIMING off) EXECUTE search_end (${values})`,
    );
    const plan = rows.map((line) => line["QUERY PLAN"]).join("\n");
    assert.match(plan, /Index Scan Backward.*actual rows=20000 /, plan);
    assert.doesNotMatch(plan, /Sort|Bitmap|Seq Scan/, plan);
  } finally {
    await client.end();
  }
});
