// Fills a world's database as months of use would: organizations, hosts of different load, and sessions
// created in turn in all organizations, the latest of them still active. Written as the owner of the
// tables, without triggers, in chunks.
import { parseId, type InstanceRecord } from "@hawser/contract";
import type { World } from "@hawser/testkit/world.ts";
import pg from "pg";

export interface Sizes {
  /** In all organizations together. */
  sessions: number;
  organizations: number;
  /** Of each organization. */
  instances: number;
}

const chunk = 100_000;

export async function seed(world: World, sizes: Sizes, say: (line: string) => void): Promise<void> {
  const startedAt = performance.now();
  const client = new pg.Client({ connectionString: world.database.url });
  await client.connect();
  try {
    await client.query("SET session_replication_role = replica");
    await client.query(insertOrganizations, [sizes.organizations - world.organizations.length]);
    await client.query(makeSlots);
    await client.query(fillSlots, [callersOrganization(world), sizes.instances]);
    await client.query(insertInstances, [JSON.stringify(agents)]);
    await client.query(insertSightings);
    for (let from = 0; from < sizes.sessions; from += chunk) {
      const to = Math.min(from + chunk, sizes.sessions) - 1;
      await client.query(insertSessions, [
        from,
        to,
        sizes.sessions,
        sizes.organizations,
        sizes.instances,
      ]);
      say(`seeded ${to + 1} of ${sizes.sessions} sessions, ${secondsSince(startedAt)} s`);
    }
    await client.query(countActive);
    await client.query(countInstances);
    // Otherwise autovacuum and the checkpointer would do it during a round of one side.
    await client.query("VACUUM (ANALYZE) organizations, instances, host_sightings, sessions");
    await client.query("CHECKPOINT");
    say(`seeded and analyzed in ${secondsSince(startedAt)} s`);
  } finally {
    await client.end();
  }
}

/** Stored id of the organization of the world's caller. */
export function callersOrganization(world: World): string {
  return parseId("organization", world.organizations[0].organizationId)!;
}

function secondsSince(startedAt: number): string {
  return ((performance.now() - startedAt) / 1000).toFixed(1);
}

const insertOrganizations = `
  INSERT INTO organizations (name) SELECT 'Organization ' || n FROM generate_series(1, $1::int) n`;

/** Numbers the instances, so that a session's instance can be computed. */
const makeSlots = `
  CREATE TEMP TABLE slots (
    slot int PRIMARY KEY, organization_id uuid NOT NULL, instance_id uuid NOT NULL, place int NOT NULL)`;

const fillSlots = `
  INSERT INTO slots
  SELECT (o.place - 1) * $2::int + k, o.organization_id, hawser_new_id(), k
    FROM (SELECT organization_id,
                 row_number() OVER (ORDER BY organization_id <> $1, organization_id)::int AS place
            FROM organizations) o,
         generate_series(0, $2::int - 1) k`;

const notInstalled = { code: "not_installed", message: "codex is not installed on this host." };

/** Typed by the contract, so that a new field fails the type check and not the next bench run. */
const agents: InstanceRecord["agents"] = [
  { kind: "opencode", installed: true, version: "1.2.15", ready: true, problems: [] },
  { kind: "claude_code", installed: true, version: "2.1.50", ready: true, problems: [] },
  { kind: "codex", installed: false, version: null, ready: false, problems: [notInstalled] },
];

const insertInstances = `
  INSERT INTO instances (organization_id, instance_id, name, status, status_reason, host,
    daemon_version, agents, roots, code_hosting_cli, fallback_chain, created_at)
  SELECT organization_id, instance_id,
         (ARRAY['Build', 'gpu', 'Staging', 'laptop', 'worker', 'Desk'])[1 + place % 6] || ' ' || place,
         CASE WHEN place % 5 = 0 THEN 'offline' ELSE 'online' END,
         CASE WHEN place % 5 = 0 THEN 'link_lost' END,
         jsonb_build_object('hostname', 'host-' || place || '.example', 'os', 'linux', 'arch', 'x64'),
         '1.4.2',
         $1::jsonb,
         '[{"path": "/srv/dev/work", "type": "folder", "isGitRepository": false, "branch": null, "remote": null},
           {"path": "/srv/shop", "type": "repository", "isGitRepository": true, "branch": "main",
            "remote": "https://git.example/acme/shop.git"}]',
         '{"installed": true, "loggedIn": true, "account": "acme-bot"}',
         '[{"kind": "claude_code", "providerId": null, "modelId": null},
           {"kind": "codex", "providerId": null, "modelId": null}]',
         now() - interval '150 days'
    FROM slots`;

const insertSightings = `
  INSERT INTO host_sightings (organization_id, instance_id, last_seen_at)
  SELECT organization_id, instance_id, now() - place * interval '1 second' FROM slots`;

/**
 * Sessions number $1 to $2 of $3; the last is created now and the first 120 days ago. Ids have the form of
 * hawser_new_id() for that time. r1 distributes sessions over instances, squared so that a few have many;
 * r2 distributes everything else. Two in five of the latest twentieth are active, and none of the others.
 */
const insertSessions = `
  INSERT INTO sessions (organization_id, session_id, instance_id, title, agent_kind, directory,
    worktree_branch, status, status_reason, cost_usd, cost_is_estimate, started_by, model, usage,
    capabilities, created_at, ended_at)
  SELECT s.organization_id, s.session_id, s.instance_id,
         CASE WHEN r2 % 20 > 0 THEN 'Fix the failing test number ' || n || ' in the checkout flow' END,
         (ARRAY['opencode', 'claude_code', 'codex'])[1 + r2 % 3],
         '/srv/dev/work/project-' || r2 % 40,
         CASE WHEN r2 % 4 > 0 THEN 'hawser/fix-' || n END,
         status,
         CASE status WHEN 'error' THEN 'agent_crashed' WHEN 'cleanup_failed' THEN 'worktree_busy' END,
         round((r2 % 900 / 100.0)::numeric, 2), r2 % 3 = 0,
         jsonb_build_object('type', 'user', 'id', 'usr_0000000000000000000000000' || r2 % 10,
           'name', 'Member ' || r2 % 10),
         '{"providerId": "example", "modelId": "large-2"}',
         jsonb_build_object('inputTokens', r2 % 90000, 'outputTokens', r2 % 7000,
           'cacheReadTokens', r2 % 400000, 'cacheWriteTokens', r2 % 9000),
         '{diff,fork,questions,revert,shell}', born,
         CASE WHEN status IN ('ended', 'cleanup_failed') THEN born + interval '40 minutes' END
    FROM (
      SELECT n, born, r2, slots.organization_id, slots.instance_id,
             (lpad(to_hex(micros / 1000), 12, '0') || to_hex(28672 + (micros % 1000) * 4096 / 1000)
               || substr(gen_random_uuid()::text, 19))::uuid AS session_id,
             CASE WHEN n > $3 * 0.95 THEN
               CASE WHEN r2 % 100 < 40 THEN 'active' WHEN r2 % 100 < 65 THEN 'detached'
                    WHEN r2 % 100 < 70 THEN 'error' ELSE 'ended' END
             ELSE
               CASE WHEN r2 % 100 < 4 THEN 'detached' WHEN r2 % 100 < 7 THEN 'error'
                    WHEN r2 % 100 < 8 THEN 'cleanup_failed' ELSE 'ended' END
             END AS status
        FROM (
          SELECT n, born, (extract(epoch FROM born) * 1000000)::bigint AS micros, r2,
                 (n % $4::int) * $5::int + floor($5::int * power(r1, 2))::int AS slot
            FROM (
              SELECT n, now() - interval '120 days' * (($3::float8 - n) / $3::float8) AS born,
                     (hashint4(n) & 1073741823) / 1073741824.0::float8 AS r1,
                     hashint4(n + 1000000000) & 1073741823 AS r2
                FROM generate_series($1::int, $2::int) n) numbered) placed
        JOIN slots USING (slot)) s
   ORDER BY n`;

const countActive = `
  UPDATE instances i SET active_session_count = counted.active
    FROM (SELECT organization_id, instance_id, count(*) AS active
            FROM sessions WHERE status = 'active' AND deleted_at IS NULL GROUP BY 1, 2) counted
   WHERE i.organization_id = counted.organization_id AND i.instance_id = counted.instance_id`;

const countInstances = `
  UPDATE organizations o SET instance_count =
    (SELECT count(*) FROM instances i WHERE i.organization_id = o.organization_id AND i.deleted_at IS NULL)`;
