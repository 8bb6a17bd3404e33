// Presence as a table of events and the status after each, on a real PostgreSQL. The events are those
// that a NATS server sends.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { parseId } from "@hawser/contract";
import { moveClock } from "@hawser/testkit/clock.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createLog } from "../log.ts";
import type { FabricConnection } from "../fabric/list-connections.ts";
import { createPresence, type Presence } from "./presence.ts";

let service: ServiceDatabase;
let presence: Presence;
let organizationId: string;
let told = 0;
let host: { key: string; instanceId: string };
let hosts = 0;

before(async () => {
  service = await openServiceDatabase();
  const acme = await createTestOrganization(service.database, "Acme", "ada@acme.example");
  organizationId = parseId("organization", acme.organizationId)!;
  presence = createPresence({
    database: service.database,
    log: createLog("silent"),
    changed: () => (told += 1),
    holdMs: 0,
  });
});

beforeEach(async () => {
  await moveClock(service.url, 0);
  host = await pairedHost();
  told = 0;
});

after(() => service[Symbol.asyncDispose]());

async function pairedHost(): Promise<typeof host> {
  const key = `UHOST${(hosts += 1)}`;
  const [row] = await ownerSql<{ id: string }>(
    service.url,
    `WITH i AS (INSERT INTO instances (organization_id, name, host_key, boot_id) VALUES ($1, 'box', $2, 'boot 1') RETURNING *),
          k AS (INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at)
                SELECT organization_id, instance_id, $2, 'm', hawser_now() + interval '1 day' FROM i)
     SELECT instance_id AS id FROM i`,
    [organizationId, key],
  );
  return { key, instanceId: row!.id };
}

async function shown(): Promise<string> {
  const [row] = await ownerSql<{ status: string; reason: string | null }>(
    service.url,
    "SELECT status, status_reason AS reason FROM instances WHERE instance_id = $1",
    [host.instanceId],
  );
  return row!.reason ? `${row!.status} ${row!.reason}` : row!.status;
}

const connection = (clientId: number, serverId = "n1") => ({
  serverId,
  clientId,
  user: host.key,
  name: "hawserd",
});
const compare = (listed: FabricConnection[]) =>
  presence.compare(() => Promise.resolve({ listed, servers: new Set(["n1"]), cut: new Set() }));

test("a connection shows a host online, once, and its end shows it offline with the reason", async () => {
  await presence.connected(connection(1));
  assert.equal(await shown(), "online");
  await presence.connected(connection(1));
  assert.equal(told, 1, "only changes are told");
  await presence.disconnected(connection(1), "Read Error");
  assert.equal(await shown(), "offline link_lost");
});

test("a frozen daemon is told from a lost link", async () => {
  await presence.connected(connection(2));
  await presence.disconnected(connection(2), "Stale Connection");
  assert.equal(await shown(), "offline daemon_stalled");
});

test("a daemon that said good-bye has stopped", async () => {
  await presence.connected(connection(3));
  await ownerSql(
    service.url,
    "UPDATE instances SET stopped_boot_id = 'boot 1' WHERE instance_id = $1",
    [host.instanceId],
  );
  await presence.disconnected(connection(3), "Client Closed");
  assert.equal(await shown(), "offline daemon_stopped");
});

test("a renewal's second connection never lets the host look offline, in either order", async () => {
  await presence.connected(connection(4));
  await presence.connected(connection(5));
  await presence.disconnected(connection(4), "Client Closed");
  assert.equal(await shown(), "online");
  assert.equal(told, 1);
});

test("the same number on another server is another connection", async () => {
  await presence.connected(connection(6, "n1"));
  await presence.connected(connection(6, "n2"));
  await presence.disconnected(connection(6, "n1"), "Read Error");
  assert.equal(await shown(), "online");
});

test("a host whose edge died is moving, comes back without ever looking offline, or is given up after 15 s", async () => {
  await presence.connected(connection(7));
  await presence.admitted(host.key, "e1");
  await presence.edgeLost("e1");
  await presence.disconnected(connection(7), "Read Error");
  assert.equal(await shown(), "online moving");
  await presence.sweep();
  assert.equal(await shown(), "online moving");
  await presence.connected(connection(8));
  assert.equal(await shown(), "online");

  await presence.disconnected(connection(8), "Read Error");
  assert.equal(await shown(), "online moving", "it still names the edge that is gone");
  await moveClock(service.url, 16);
  await presence.sweep();
  assert.equal(await shown(), "offline link_lost");
});

test("A14: an edge that only connects again, for example with new keys, is not taken for dead", async () => {
  await presence.connected(connection(10));
  await presence.admitted(host.key, "e2");
  await presence.edgeLost("e2");
  await presence.edgeBack("e2");
  await presence.disconnected(connection(10), "Read Error");
  assert.equal(await shown(), "offline link_lost");
});

test("a comparison heals a connect and a disconnect that nobody heard", async () => {
  await compare([connection(9)]);
  assert.equal(await shown(), "online");
  await compare([]);
  assert.equal(await shown(), "offline link_lost");
});

test("a connection that is noted while the servers are asked is kept", async () => {
  await presence.compare(async () => {
    await presence.connected(connection(14));
    return { listed: [], servers: new Set(["n1"]), cut: new Set() };
  });
  assert.equal(await shown(), "online");
});

test("hosts of a server that died are moving, not offline", async () => {
  await presence.connected(connection(10, "dead"));
  await compare([]);
  assert.equal(await shown(), "online moving");
});

test("a comparison that changes nothing tells nobody", async () => {
  await presence.connected(connection(11));
  told = 0;
  await compare([connection(11)]);
  assert.equal(told, 0);
});

test("a revoked key, or one that is no host's, has no presence", async () => {
  await ownerSql(
    service.url,
    "UPDATE host_keys SET revoked_at = hawser_now() WHERE public_key = $1",
    [host.key],
  );
  await presence.connected(connection(12));
  await presence.connected({ ...connection(13), user: "UNKNOWN" });
  assert.equal(await shown(), "pairing never_paired");
});

test("two nodes that take the same hosts' events at once, in any order, agree on who is online", async () => {
  const other = createPresence({
    database: service.database,
    log: createLog("silent"),
    changed: () => {},
    holdMs: 0,
  });
  const many = await Promise.all(Array.from({ length: 100 }, pairedHost));
  const all = many.map(({ key }, index) => ({ ...connection(10_000 + index), user: key }));
  const mixed = all.toSorted(() => Math.random() - 0.5);
  for (let round = 0; round < 5; round++) {
    await Promise.all([
      ...all.map((each) => presence.connected(each)),
      ...mixed.map((each) => other.admitted(each.user, `e${round}`)),
      ...mixed.map((each) => other.connected({ ...each, clientId: each.clientId + 10_000 })),
    ]);
    await Promise.all([
      ...mixed.map((each) => presence.disconnected(each, "Read Error")),
      ...all.map((each) => other.admitted(each.user, "e")),
      other.sweep(),
    ]);
    assert.equal(await countOnline(many), 100, "each has one connection left");
    await Promise.all(
      mixed.map((each) =>
        other.disconnected({ ...each, clientId: each.clientId + 10_000 }, "Read Error"),
      ),
    );
    assert.equal(await countOnline(many), 0);
  }
});

async function countOnline(many: (typeof host)[]): Promise<number> {
  const [row] = await ownerSql<{ count: number }>(
    service.url,
    `SELECT count(*)::int FROM instances WHERE instance_id = ANY ($1) AND status = 'online'`,
    [many.map(({ instanceId }) => instanceId)],
  );
  return row!.count;
}

test("what a server did not list to the end is left as it is, and what it listed is taken", async () => {
  const another = await pairedHost();
  await presence.connected(connection(21));
  const cut = new Set(["n1"]);
  const listed = [{ ...connection(22), user: another.key }];
  await presence.compare(() => Promise.resolve({ listed, servers: new Set(["n1"]), cut }));
  assert.equal(await shown(), "online");
  assert.equal(await countOnline([host, another]), 2);
});

test("a host that comes and goes at once is shown as the connections are that it has", async () => {
  for (let round = 0; round < 20; round++) {
    const [former, next] = [connection(1000 + round), connection(2000 + round)];
    await presence.connected(former);
    await Promise.all([presence.disconnected(former, "Read Error"), presence.connected(next)]);
    assert.equal(await shown(), "online");
    await presence.disconnected(next, "Read Error");
    assert.equal(await shown(), "offline link_lost");
  }
});
