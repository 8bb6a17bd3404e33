// Shows the plans PostgreSQL uses for every listing, as hawser_app under row-level security and with
// prepared statements, as in a node: the plan that PostgreSQL chooses, and the generic one. A page must
// read a page's worth of buffers, whatever the size of the table.
import { mostSearched } from "@hawser/control-plane/cursor.ts";
import * as instances from "@hawser/control-plane/instances/store.ts";
import type { Statement } from "@hawser/control-plane/postgres/statement.ts";
import * as overviews from "@hawser/control-plane/sessions/overview-store.ts";
import * as sessions from "@hawser/control-plane/sessions/store.ts";
import pg from "pg";
import { callersOrganization } from "./seed.ts";
import { fullSizes, openStage } from "./stage.ts";

const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const firstId = "00000000-0000-0000-0000-000000000000";
/** PostgreSQL compares a generic plan with custom ones after five executions. */
const executionsToSettle = 6;

interface PlanNode {
  "Node Type": string;
  "Index Name"?: string;
  "Index Cond"?: string;
  "Scan Direction"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  "Rows Removed by Filter"?: number;
  Plans?: PlanNode[];
}

interface Explained {
  "QUERY PLAN": [{ Plan: PlanNode; "Planning Time": number; "Execution Time": number }];
}

export async function showPlans(quick: boolean): Promise<void> {
  await using stage = await openStage();
  const world = await stage.addWorld(fullSizes(quick));
  const client = new pg.Client({ connectionString: world.database.url });
  await client.connect();
  try {
    const organization = callersOrganization(world);
    const cases = listings(organization, await busiestInstance(client, organization));
    await client.query("SET ROLE hawser_app");
    await client.query("SELECT set_config('hawser.organization_id', $1, false)", [organization]);
    for (const mode of ["auto", "force_generic_plan"]) {
      await client.query(`SET plan_cache_mode = ${mode}`);
      for (const [name, statement, values] of cases) {
        console.log(`${name}, ${mode}: ${await explain(client, statement, values)}\n`);
      }
      await client.query("DEALLOCATE ALL");
    }
  } finally {
    await client.end();
  }
}

type Case = [name: string, statement: Statement<unknown>, values: (string | number)[]];

function listings(organization: string, instance: string): Case[] {
  const newest = [organization, lastId, 50];
  const byName = [organization, "", firstId, 50, ""];
  const running = overviews.newestInGroup("running", undefined, false);
  return [
    ["sessions", sessions.newest, newest],
    ["sessions of an instance", sessions.newestOfInstance, [...newest, instance]],
    ["sessions in a status", sessions.newestInStatus, [...newest, "cleanup_failed"]],
    [
      "sessions of an instance in a status",
      sessions.newestOfInstanceInStatus,
      [...newest, instance, "error"],
    ],
    [
      "sessions with a text that none has",
      overviews.newest.matching,
      [...newest, lastId, "no such text", mostSearched],
    ],
    ["where that search ended", overviews.newest.end, [organization, lastId, mostSearched - 1]],
    ["overviews of running sessions", running.rows, [...newest, lastId]],
    ["instances", instances.selectByName, byName],
    ["instances in a status", instances.selectByNameInStatus, [...byName, "offline"]],
    ["one instance", instances.selectInstance, [organization, instance]],
  ];
}

async function busiestInstance(client: pg.Client, organization: string): Promise<string> {
  const { rows } = await client.query<{ instance_id: string }>(
    `SELECT instance_id FROM sessions WHERE organization_id = $1
      GROUP BY instance_id ORDER BY count(*) DESC LIMIT 1`,
    [organization],
  );
  return rows[0]!.instance_id;
}

async function explain(
  client: pg.Client,
  { name, text }: Statement<unknown>,
  values: (string | number)[],
): Promise<string> {
  const given = values.map((value) => client.escapeLiteral(String(value))).join(", ");
  await client.query(`PREPARE "${name}" AS ${text}`);
  for (let i = 0; i < executionsToSettle; i++) await client.query(`EXECUTE "${name}" (${given})`);
  const { rows } = await client.query<Explained>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE "${name}" (${given})`,
  );
  const { Plan: plan, ...times } = rows[0]!["QUERY PLAN"][0];
  const buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
  return (
    `${plan["Actual Rows"]} rows, ${buffers} buffers, ` +
    `planned in ${times["Planning Time"]} ms, run in ${times["Execution Time"]} ms` +
    describe(plan, "\n  ")
  );
}

function describe(node: PlanNode, indent: string): string {
  const direction = node["Scan Direction"] === "Backward" ? " backward" : "";
  const index = node["Index Name"] ? ` on ${node["Index Name"]}${direction}` : "";
  const condition = node["Index Cond"] ? ` where ${node["Index Cond"]}` : "";
  const removed = node["Rows Removed by Filter"];
  const filtered = removed ? `, ${removed} filtered out` : "";
  const own = `${indent}${node["Node Type"]}${index}: ${node["Actual Rows"]} rows × ${node["Actual Loops"]}${filtered}${condition}`;
  return own + (node.Plans ?? []).map((inner) => describe(inner, `${indent}  `)).join("");
}
