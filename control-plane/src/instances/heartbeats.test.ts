// Heartbeats on a real PostgreSQL: a host without news costs one lookup and a share of a grouped write, and
// changed facts are stored at once.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { moveClock } from "@hawser/testkit/clock.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import type { HostFacts } from "@hawser/host-protocol";
import type { SystemSql } from "../postgres/statement.ts";
import { createSightings } from "./sightings.ts";
import { createUpCalls } from "./up-calls.ts";

let service: ServiceDatabase;
let organizationId: string;
/** Shown ids of the instances that viewers were notified of. */
let notified: string[] = [];

before(async () => {
  service = await openServiceDatabase();
  const acme = await createTestOrganization(service.database, "Acme", "ada@acme.example");
  organizationId = parseId("organization", acme.organizationId)!;
});
after(() => service[Symbol.asyncDispose]());
beforeEach(async () => {
  notified = [];
  await moveClock(service.url, 0);
});

function openNode(system: SystemSql = service.database.system) {
  const sightings = createSightings(system);
  const unused = () => Promise.reject(new Error("This test has no such call."));
  const upCalls = createUpCalls({
    database: { ...service.database, system },
    intake: { accept: unused, close: () => Promise.resolve() },
    logQuota: { refusal: () => undefined },
    sightings,
    viewers: { notify: (_organization, { instances = [] }) => void notified.push(...instances) },
    presence: { recorded: unused },
    isBack: () => {},
    reconnectSeconds: () => 1,
    renewToken: unused,
    removed: { answerInstance: unused },
  });
  const beat = (shownId: string, facts?: HostFacts) =>
    upCalls.answer(shownId, "heartbeat", Buffer.from(JSON.stringify({ bootId: "boot", facts })));
  return { beat, flush: () => sightings.flush() };
}

async function addHosts(count: number): Promise<string[]> {
  const rows = await ownerSql<{ instance_id: string }>(
    service.url,
    `WITH i AS (INSERT INTO instances (organization_id, name, status, status_reason, host_key, boot_id)
                SELECT $1, 'box', 'online', NULL, gen_random_uuid()::text, 'boot'
                  FROM generate_series(1, $2::int) RETURNING *)
     INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at)
     SELECT organization_id, instance_id, host_key, 'm', hawser_now() + interval '1 day' FROM i
     RETURNING instance_id`,
    [organizationId, count],
  );
  return rows.map(({ instance_id }) => formatId("instance", instance_id));
}

/** Milliseconds since the host was last seen, by the database's clock; undefined if it never was. */
async function lastSeen(shownId: string): Promise<number | undefined> {
  const [row] = await ownerSql<{ age: string }>(
    service.url,
    `SELECT extract(epoch FROM hawser_now() - last_seen_at) AS age FROM host_sightings WHERE instance_id = $1`,
    [parseId("instance", shownId)],
  );
  return row && Number(row.age) * 1000;
}

const facts: HostFacts = {
  host: { hostname: "box", os: "Debian", arch: "x64" },
  daemonVersion: "1.0.0",
  agents: [],
  roots: [],
  codeHostingCli: null,
};

test("a host without news is asked to report every five minutes, and what it reports is not stored at once", async () => {
  const [host] = await addHosts(1);
  const node = openNode();
  assert.deepEqual(await node.beat(host!), { nextSeconds: 300 });
  assert.equal(await lastSeen(host!), undefined);
  await node.flush();
  assert.ok((await lastSeen(host!))! < 30_000);
  assert.deepEqual(notified, []);
});

test("the sightings of many hosts are one statement, and an idle node writes none", async () => {
  const { system } = service.database;
  let writes = 0;
  const node = openNode({
    ...system,
    rows(statement, ...values) {
      if (statement.purpose === "record when hosts were last seen") writes += 1;
      return system.rows(statement, ...values);
    },
  });
  const hosts = await addHosts(100);
  await Promise.all(hosts.map((host) => node.beat(host)));
  await node.flush();
  await node.flush();
  assert.equal(writes, 1);
  const [found] = await ownerSql<{ count: number }>(
    service.url,
    "SELECT count(*)::int AS count FROM host_sightings WHERE instance_id = ANY ($1)",
    [hosts.map((host) => parseId("instance", host))],
  );
  assert.equal(found!.count, 100);
});

test("a sighting that is written late has its own time, and no earlier one replaces it", async () => {
  const [host] = await addHosts(1);
  let isAway = true;
  const { system } = service.database;
  const node = openNode({
    ...system,
    rows: (statement, ...values) =>
      isAway && statement.purpose === "record when hosts were last seen"
        ? Promise.reject(new Error("away"))
        : system.rows(statement, ...values),
  });
  await node.beat(host!);
  await assert.rejects(node.flush(), /away/);
  isAway = false;
  await new Promise((resolve) => setTimeout(resolve, 500));
  await node.flush();
  assert.ok((await lastSeen(host!))! >= 500);
  await moveClock(service.url, 60);
  await node.beat(host!);
  await node.flush();
  assert.ok((await lastSeen(host!))! < 30_000);
  await moveClock(service.url, 0);
  await node.beat(host!);
  await node.flush();
  await moveClock(service.url, 60);
  assert.ok((await lastSeen(host!))! < 30_000);
});

test("changed facts are stored at once, and viewers are notified once", async () => {
  const [host] = await addHosts(1);
  const node = openNode();
  await node.beat(host!, facts);
  await node.beat(host!, facts);
  const [row] = await ownerSql<{ daemon_version: string }>(
    service.url,
    "SELECT daemon_version FROM instances WHERE instance_id = $1",
    [parseId("instance", host!)],
  );
  assert.deepEqual([row!.daemon_version, notified], ["1.0.0", [host]]);
});
