// What searches read does not depend on how many sessions there are: the end of a search's window is found in the
// index, and a page of a group reads the sessions of that group.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseId, type SessionGroup } from "@hawser/contract";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import pg from "pg";
import { lastId, mostSearched } from "../cursor.ts";
import {
  countGroups,
  countGroupsOfInstance,
  mostCounted,
  newest,
  newestInGroup,
} from "../sessions/overview-store.ts";
import type { Statement } from "./statement.ts";

const ended = 30_000;
/** The other sessions: how many of each group, and what they are. */
const others: Record<Exclude<SessionGroup, "ended">, string> = {
  waiting: "generate_series(1, 2) n, (VALUES ('active', 'waiting')) AS shown (status, activity)",
  running: "generate_series(1, 3) n, (VALUES ('active', 'running')) AS shown (status, activity)",
  idle: `generate_series(1, 100) n, (VALUES ('active', 'idle'), ('detached', 'idle'), ('error', 'idle')) AS shown (status, activity)`,
};

let service: ServiceDatabase;
let client: pg.Client;
let organization: string, instance: string;

before(async () => {
  service = await openServiceDatabase();
  const { url, database } = service;
  const made = await createTestOrganization(database, "acme", "ada@acme.example");
  organization = parseId("organization", made.organizationId)!;
  const [host] = await ownerSql<{ id: string }>(
    url,
    "INSERT INTO instances (organization_id, name) VALUES ($1, 'a host') RETURNING instance_id AS id",
    [organization],
  );
  instance = host!.id;
  await ownerSql(url, "ALTER TABLE sessions DISABLE TRIGGER USER");
  for (const sessions of Object.values(others)) await addSessions(sessions);
  await addSessions(
    `generate_series(1, ${ended}) n, (VALUES ('ended', 'idle')) AS shown (status, activity)`,
  );
  // Requests of earlier turns, and those that are open.
  await ownerSql(
    url,
    `INSERT INTO requests (organization_id, request_id, session_id, instance_id, type, shown, shown_hash, raised_at, status)
     SELECT organization_id, gen_random_uuid(), session_id, instance_id, 'permission', '{}', '', now(),
            CASE WHEN activity = 'waiting' THEN 'pending' ELSE 'answered' END
       FROM sessions WHERE activity = 'waiting' OR right(title, 1) = '0'`,
  );
  client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("SET plan_cache_mode = force_generic_plan");
  await client.query("SET ROLE hawser_app");
  await client.query(
    "SELECT set_config('hawser.organization_id', $1, false), set_config('hawser.agent_session_id', '', false)",
    [organization],
  );
});
after(async () => {
  await client.end();
  await service[Symbol.asyncDispose]();
});

const addSessions = (sessions: string) =>
  ownerSql(
    service.url,
    `INSERT INTO sessions (organization_id, instance_id, title, agent_kind, started_by, status, activity,
                           turn_id, turn_outcome, ancestor_ids)
     SELECT $1, $2, 'title ' || n, 'codex', '{}', status, activity, 't1',
            CASE WHEN activity = 'idle' THEN 'completed' END, '{}'
       FROM ${sessions}`,
    [organization, instance],
  );

interface Read {
  rows: number;
  /** Pages of 8 KiB. */
  pages: number;
  plan: string;
}

async function explain(
  statement: Statement<unknown>,
  ...values: (string | number | null)[]
): Promise<Read> {
  const given = values.map((value) =>
    value === null ? "NULL" : client.escapeLiteral(String(value)),
  );
  await client.query(`PREPARE explained AS ${statement.text}`);
  const { rows } = await client.query<Record<string, string>>(
    `EXPLAIN (ANALYZE, BUFFERS, TIMING off) EXECUTE explained (${given.join(", ")})`,
  );
  await client.query("DEALLOCATE explained");
  const plan = rows.map((line) => line["QUERY PLAN"]).join("\n");
  const [, hit, read] = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(plan)!;
  const [, returned] = /actual rows=(\d+) /.exec(plan)!;
  return { rows: Number(returned), pages: Number(hit ?? 0) + Number(read ?? 0), plan };
}

test("the end of a search's window is found without reading all sessions", async () => {
  await ownerSql(service.url, "ANALYZE sessions");
  const { plan } = await explain(newest.end, organization, lastId, mostSearched - 1);
  assert.match(plan, /Index Scan Backward.*actual rows=20000 /, plan);
  assert.doesNotMatch(plan, /Sort|Bitmap|Seq Scan/, plan);
});

const groups: SessionGroup[] = ["waiting", "running", "idle", "ended"];
const sizes = { waiting: 2, running: 3, idle: 51, ended: 51 };

test("a page of a group, and the counts of all, read few pages of a large table", async () => {
  await ownerSql(service.url, "ANALYZE sessions, requests");
  const check = (name: string, { pages, plan }: Read, most: number) => {
    assert.doesNotMatch(plan, /Seq Scan on (?:sessions|requests)/, plan);
    assert.ok(pages <= most, `${name}: ${pages} pages of at most ${most}\n${plan}`);
  };
  for (const group of groups) {
    const key = [organization, lastId, 51];
    const page = newestInGroup(group, undefined, false);
    const ofInstance = newestInGroup(group, undefined, true);
    const found = await explain(page.rows, ...key, null);
    assert.equal(found.rows, sizes[group], found.plan);
    check(group, found, 1_000);
    check(`${group} of an instance`, await explain(ofInstance.rows, ...key, instance, null), 1_000);
    // A search reads its window.
    const searched = [...key, null, "no such text", mostSearched, null, null];
    const most = group === "ended" ? mostSearched * 1.1 : 1_000;
    check(`${group} with a text`, await explain(page.matching, ...searched), most);
  }
  check("counts", await explain(countGroups, organization, mostCounted), 2_000);
  check(
    "counts of an instance",
    await explain(countGroupsOfInstance, organization, mostCounted, instance),
    2_000,
  );
});
