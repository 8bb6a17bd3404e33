// Databases that differ in their number of instances, without hosts: for measuring how the work that nodes do
// for one host, and their lists of all hosts, grow with that number.
import { formatId } from "@hawser/contract";
import { createKnownKeys } from "@hawser/control-plane/instances/known-keys.ts";
import { extendHostKey, selectHostKey } from "@hawser/control-plane/instances/host-key-store.ts";
import { createPresence } from "@hawser/control-plane/instances/presence.ts";
import {
  countHosts,
  selectConnections,
  selectStranded,
} from "@hawser/control-plane/instances/presence-store.ts";
import { createSightings } from "@hawser/control-plane/instances/sightings.ts";
import * as store from "@hawser/control-plane/instances/store.ts";
import { createUpCalls } from "@hawser/control-plane/instances/up-calls.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import type { Database } from "@hawser/control-plane/postgres/database.ts";
import { query } from "@hawser/control-plane/postgres/statement.ts";
import { protocolVersion, type HostFacts } from "@hawser/host-protocol";
import pg from "pg";
import { borrowed, forMeasuring, startPostgres } from "./postgres.ts";
import { openServiceDatabase } from "./service-database.ts";

/** Work for one host or one page, and sweeps that find nothing. Its cost must not depend on the number. */
export const steadyWork = [
  "hello",
  "heartbeat",
  "facts",
  "presence_change",
  "host_key",
  "renewal",
  "record",
  "page",
  "page_by_status",
  "first_page",
  "presence_sweep",
  "key_sweep",
] as const;
export type SteadyWork = (typeof steadyWork)[number];

/** Lists of all hosts, which the comparison of presence reads every minute. */
export const wholeLists = ["connections", "stranded", "counts"] as const;
export type WholeList = (typeof wholeLists)[number];

/** What PostgreSQL has counted in the statements of nodes so far. */
export interface Counted {
  milliseconds: number;
  /** Pages that statements read or changed, each time. */
  pages: number;
}

export interface InstanceStage {
  instances: number;
  run(work: SteadyWork | WholeList): Promise<unknown>;
  counted(): Promise<Counted>;
}

export interface InstanceStages extends AsyncDisposable {
  stages: InstanceStage[];
}

const settings = {
  ...forMeasuring.settings,
  shared_buffers: "3GB",
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track_utility": "off",
};

/** All databases are in one cluster. Four of five instances are online, each with one connection. */
export async function openInstanceStages(sizes: readonly number[]): Promise<InstanceStages> {
  const parts = new AsyncDisposableStack();
  try {
    const cluster = parts.use(await startPostgres({ ...forMeasuring, settings }));
    const stages: InstanceStage[] = [];
    for (const instances of sizes) {
      const service = parts.use(
        await openServiceDatabase({
          cluster: borrowed(cluster),
          connections: 1,
          patienceMs: 60_000,
        }),
      );
      const owner = new pg.Client({ connectionString: service.url });
      await owner.connect();
      parts.defer(() => owner.end());
      await fill(owner, instances);
      stages.push(await openStage(service.database, owner, instances));
    }
    return { stages, [Symbol.asyncDispose]: () => parts.disposeAsync() };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

interface SampleHost {
  organization_id: string;
  instance_id: string;
  name_key: string;
  host_key: string;
  machine_id: string;
  client_id: number;
}

const serverId = "server";
const edgeId = "edge";
const bootId = "boot";
const journalId = "journal";
const commandKey = "AC8nTE1zN5uC1mDnLwY2lYvVd0mS0O3mKJpQ9g6Yb1s";
const tokenSigner = "AB5XOQ3ZKPUHLQ6S5GZ5ZPBVJ6XYJ3R2Z5M4J7LQ6EHTYU3NCNBDBNWK";
const firstId = "00000000-0000-0000-0000-000000000000";
/** Every measurement works on other hosts, so that it does not find its pages in a processor's cache. */
const sampleSize = 5_000;
const unused = () => Promise.reject(new Error("Not used here."));

async function openStage(
  database: Database,
  owner: pg.Client,
  instances: number,
): Promise<InstanceStage> {
  const { rows: sample } = await owner.query<SampleHost>(selectSample, [instances, sampleSize]);
  let used = 0;
  const next = () => sample[used++ % sample.length]!;
  const log = createLog("silent");
  const { system } = database;
  const sightings = createSightings(system);
  const presence = createPresence({
    database: database.connectionsFor("presence"),
    sources: { list: unused, identify: unused, isEdgeAlive: () => Promise.resolve(true) },
    kick: unused,
    log,
    changed: () => {},
    reconnectSeconds: () => 3,
  });
  const upCalls = createUpCalls({
    database,
    intake: { accept: unused, close: unused },
    logQuota: { refusal: () => undefined },
    sightings,
    renewToken: unused,
    removed: { answerInstance: unused },
    viewers: { notify: () => {} },
    presence,
    isBack: () => {},
    reconnectSeconds: () => 3,
  });
  const knownKeys = createKnownKeys({
    database,
    hosts: { ask: unused },
    commandKeys: () => [commandKey],
    tokenSigner: () => tokenSigner,
    log,
  });
  const answer = (host: SampleHost, call: "hello" | "heartbeat", message: object) =>
    upCalls.answer(
      formatId("instance", host.instance_id),
      call,
      Buffer.from(JSON.stringify(message)),
    );
  const tenant = () => {
    const host = next();
    const { organization_id: id, name_key: name } = host;
    return { host, id, name, sql: database.tenant(id) };
  };

  const work: Record<SteadyWork | WholeList, () => Promise<unknown>> = {
    hello() {
      const host = next();
      const { machine_id: machineId } = host;
      const hello = { protocol: protocolVersion, machineId, journalId, bootId, sessions: [] };
      return answer(host, "hello", { ...hello, facts: changedFacts() });
    },
    async heartbeat() {
      await answer(next(), "heartbeat", { bootId });
      await sightings.flush();
    },
    facts: () => answer(next(), "heartbeat", { bootId, facts: changedFacts() }),
    async presence_change() {
      const { client_id: clientId, host_key: user } = next();
      const connection = { serverId, clientId, user };
      await presence.disconnected(connection, "Client Closed");
      await presence.connected(connection);
    },
    host_key: () => system.rows(selectHostKey, next().host_key),
    renewal() {
      const expiresAt = new Date(Date.now() + 7_200_000).toISOString();
      return system.rows(extendHostKey, next().host_key, expiresAt, tokenSigner);
    },
    record() {
      const { host, id, sql } = tenant();
      return sql.rows(store.selectInstance, id, host.instance_id);
    },
    page() {
      const { id, name, sql } = tenant();
      return sql.rows(store.selectByName, id, name, firstId, 51, "");
    },
    page_by_status() {
      const { id, name, sql } = tenant();
      return sql.rows(store.selectByNameInStatus, id, name, firstId, 51, "", "online");
    },
    first_page() {
      const { id, sql } = tenant();
      return sql.together(
        query(store.selectByName, id, "", firstId, 1_000, ""),
        query(store.countInstances, id),
      );
    },
    presence_sweep: () => presence.sweep(),
    key_sweep: () => knownKeys.sweep(),
    connections: () => system.rows(selectConnections),
    stranded: () => system.rows(selectStranded),
    counts: () => system.rows(countHosts),
  };
  return {
    instances,
    run: (name) => work[name](),
    counted: async () => (await owner.query<Counted>(selectCounted)).rows[0]!,
  };
}

/** Facts of a host. Their content is typed by the protocol. */
const facts: HostFacts = {
  host: { hostname: "host.example", os: "linux", arch: "x64" },
  daemonVersion: "1.4.2",
  agents: [
    { kind: "opencode", installed: true, version: "1.2.15", ready: true, problems: [] },
    { kind: "claude_code", installed: true, version: "2.1.50", ready: true, problems: [] },
    { kind: "codex", installed: false, version: null, ready: false, problems: [] },
  ],
  roots: [
    { path: "/srv/work", type: "folder", isGitRepository: false, branch: null, remote: null },
    {
      path: "/srv/shop",
      type: "repository",
      isGitRepository: true,
      branch: "main",
      remote: "https://git.example/acme/shop.git",
    },
  ],
  codeHostingCli: { installed: true, loggedIn: true, account: "acme-bot" },
};

const changedFacts = (): HostFacts => ({
  ...facts,
  host: { ...facts.host, hostname: `host-${Math.floor(Math.random() * 1e9)}.example` },
});

/** Writes the rows as the owner of the tables, without triggers and keys. */
async function fill(owner: pg.Client, instances: number): Promise<void> {
  await owner.query("CREATE EXTENSION pg_stat_statements");
  await owner.query("SET session_replication_role = replica");
  await owner.query("INSERT INTO organizations (name) VALUES ('Acme'), ('Globex')");
  await owner.query(insertInstances, [
    instances,
    JSON.stringify(facts.host),
    facts.daemonVersion,
    JSON.stringify(facts.agents),
    JSON.stringify(facts.roots),
    JSON.stringify(facts.codeHostingCli),
    journalId,
    bootId,
  ]);
  await owner.query(insertKeys, [commandKey, tokenSigner]);
  await owner.query(insertConnections, [serverId, edgeId]);
  await owner.query(insertSightings);
  await owner.query(countInstances);
  await owner.query("SET session_replication_role = origin");
  // Otherwise autovacuum would do it during a measurement.
  await owner.query("VACUUM (ANALYZE)");
  await owner.query("CHECKPOINT");
}

/** Instances were created over 150 days, in the order of their names. The last characters of an id are its number. */
const insertInstances = `
  INSERT INTO instances (organization_id, instance_id, name, status, status_reason, host, daemon_version,
    agents, roots, code_hosting_cli, host_key, machine_id, journal_id, boot_id, created_at)
  SELECT o.ids[1 + n % 2],
         (lpad(to_hex((extract(epoch FROM born) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
         'host ' || lpad(n::text, 7, '0'),
         CASE WHEN n % 5 = 0 THEN 'offline' ELSE 'online' END,
         CASE WHEN n % 5 = 0 THEN 'link_lost' END,
         $2::jsonb, $3, $4::jsonb, $5::jsonb, $6::jsonb,
         -- Keys are in random order.
         'U' || upper(substr(md5(n::text) || md5('key ' || n), 1, 55)),
         'machine ' || n, $7, $8, born
    FROM generate_series(1, $1::int) n
    CROSS JOIN LATERAL (SELECT now() - interval '150 days' * (1 - n / $1::float8) AS born) AS moment
    CROSS JOIN (SELECT array_agg(organization_id) AS ids FROM organizations) AS o`;

const insertKeys = `
  INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at, command_keys,
    token_signer, edge_id)
  SELECT organization_id, instance_id, host_key, machine_id, now() + interval '2 hours', $1, $2, 'edge'
    FROM instances`;

/** The client number is the number of the instance. */
const insertConnections = `
  INSERT INTO host_connections (server_id, client_id, public_key, organization_id, instance_id, edge_id)
  SELECT $1, substr(name, 6)::int, host_key, organization_id, instance_id, $2
    FROM instances WHERE status = 'online'`;

const insertSightings = `
  INSERT INTO host_sightings (organization_id, instance_id, last_seen_at)
  SELECT organization_id, instance_id, now() FROM instances`;

const countInstances = `
  UPDATE organizations o SET instance_count =
    (SELECT count(*) FROM instances i WHERE i.organization_id = o.organization_id)`;

/** $2 connected hosts among $1 instances, in random order. */
const selectSample = `
  SELECT i.organization_id, i.instance_id, i.name_key, i.host_key, i.machine_id, c.client_id::int
    FROM (SELECT DISTINCT 1 + floor(random() * $1)::int AS n FROM generate_series(1, $2::int)) AS chosen
    JOIN host_connections c ON c.server_id = '${serverId}' AND c.client_id = n
    JOIN instances i ON i.organization_id = c.organization_id AND i.instance_id = c.instance_id
   ORDER BY random()`;

const selectCounted = `
  SELECT coalesce(sum(total_exec_time), 0)::float8 AS milliseconds,
         coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 AS pages
    FROM pg_stat_statements
   WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
     AND userid::regrole::text IN ('hawser_app', 'hawser_system')`;
