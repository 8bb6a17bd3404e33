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
import type { FabricConnection, ListedConnections } from "../fabric/list-connections.ts";
import { createPresence, type Presence, type PresenceSources } from "./presence.ts";

let service: ServiceDatabase;
let presence: Presence;
let organizationId: string;
let told = 0;
let kicked: string[] = [];
let host: { key: string; instanceId: string };
let hosts = 0;
let reconnectSeconds = 1;
const deadEdges = new Set<string>();
/** What the NATS servers list, with the verified users. */
let lists: Omit<ListedConnections, "listed"> & { listed: FabricConnection[] };
let list: () => Promise<ListedConnections>;

const sources: PresenceSources = {
  list: () => list(),
  identify: ({ serverId, clientId }) =>
    Promise.resolve(
      lists.listed.find((each) => each.serverId === serverId && each.clientId === clientId),
    ),
  isEdgeAlive: (edgeId) => Promise.resolve(!deadEdges.has(edgeId)),
};

before(async () => {
  service = await openServiceDatabase();
  const acme = await createTestOrganization(service.database, "Acme", "ada@acme.example");
  organizationId = parseId("organization", acme.organizationId)!;
  presence = createPresence({
    database: service.database,
    kick: async ({ user }) => void kicked.push(user),
    sources,
    log: createLog("silent"),
    changed: () => (told += 1),
    reconnectSeconds: () => reconnectSeconds,
    lateMs: 0,
  });
});

beforeEach(async () => {
  await moveClock(service.url, 0);
  host = await pairedHost();
  told = 0;
  reconnectSeconds = 1;
  deadEdges.clear();
  list = () =>
    Promise.resolve({ ...lists, listed: lists.listed.map((each) => ({ ...each, name: "" })) });
  answer([]);
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

/** Tens of seconds since the host was last seen, by the database's clock; undefined if it never was. */
async function lastSeen(): Promise<number | undefined> {
  const [row] = await ownerSql<{ age: string }>(
    service.url,
    `SELECT extract(epoch FROM hawser_now() - last_seen_at) AS age FROM host_sightings WHERE instance_id = $1`,
    [host.instanceId],
  );
  return row && Math.round(Number(row.age) / 10);
}

const connection = (clientId: number, serverId = "n1") => ({
  serverId,
  clientId,
  user: host.key,
});

/** Sets what the servers answer from now on. */
function answer(listed: FabricConnection[], others: Partial<Omit<typeof lists, "listed">> = {}) {
  lists = { listed, servers: new Set(["n1"]), cut: new Set(), routed: new Set(), ...others };
}

function compare(...answered: Parameters<typeof answer>) {
  answer(...answered);
  return presence.compare();
}

const admitted = (clientId: number, edgeId: string) =>
  presence.admitted({ publicKey: host.key, edgeId, serverId: "n1", clientId });

test("the connection of a revoked key is ended, and shows nothing", async () => {
  kicked = [];
  await presence.connected(connection(1));
  assert.deepEqual(kicked, []);
  await presence.disconnected(connection(1), "Read Error");
  await ownerSql(
    service.url,
    "UPDATE host_keys SET revoked_at = hawser_now() WHERE public_key = $1",
    [host.key],
  );
  await presence.connected(connection(2));
  assert.deepEqual(kicked, [host.key]);
  assert.equal(await shown(), "offline link_lost");
  // The same holds if the event was lost and the comparison finds the connection.
  await compare([connection(3)]);
  assert.deepEqual(kicked, [host.key, host.key]);
});

test("a connection shows a host online, once, and its end shows it offline with the reason", async () => {
  await presence.connected(connection(1));
  assert.equal(await shown(), "online");
  await presence.connected(connection(1));
  assert.equal(told, 1, "only changes are reported");
  await presence.disconnected(connection(1), "Read Error");
  assert.equal(await shown(), "offline link_lost");
});

test("a host is last seen when it connects and when it disconnects, and not when its edge dies", async () => {
  assert.equal(await lastSeen(), undefined);
  await presence.connected(connection(51));
  assert.equal(await lastSeen(), 0);
  await moveClock(service.url, 100);
  await presence.disconnected(connection(51), "Read Error");
  assert.equal(await lastSeen(), 0);
  await presence.connected(connection(52));
  await admitted(52, "e50");
  await moveClock(service.url, 200);
  deadEdges.add("e50");
  await presence.disconnected(connection(52), "Read Error");
  assert.deepEqual([await shown(), await lastSeen()], ["online moving", 10]);
});

test("a frozen daemon is distinguished from a lost link", async () => {
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

test("a renewal whose connection is recorded late: the host hears of it, and only then ends the former one", async () => {
  await presence.connected(connection(40));
  answer([connection(40), connection(41)]);
  let isRecorded = false;
  const recorded = presence.recorded(connection(41)).then(() => (isRecorded = true));
  // The node that received the event is slow.
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(isRecorded, false);
  await presence.connected(connection(41));
  await recorded;
  await presence.disconnected(connection(40), "Client Closed");
  assert.equal(await shown(), "online");
  assert.equal(told, 1);
});

test("a renewal whose connection nobody heard of: it is looked for and recorded when its host says hello", async () => {
  await presence.connected(connection(42));
  answer([connection(42), connection(43)]);
  await presence.recorded(connection(43));
  await presence.disconnected(connection(42), "Client Closed");
  assert.equal(await shown(), "online");
  assert.equal(told, 1);
});

test("a hello over a connection that has ended records nothing", async () => {
  await assert.rejects(presence.recorded(connection(44)), /is gone/);
  assert.equal(await shown(), "pairing never_paired");
});

test("the same number on another server is another connection", async () => {
  await presence.connected(connection(6, "n1"));
  await presence.connected(connection(6, "n2"));
  await presence.disconnected(connection(6, "n1"), "Read Error");
  assert.equal(await shown(), "online");
});

test("a host whose edge died is moving, comes back without ever looking offline, or is given up after 15 s", async () => {
  await presence.connected(connection(7));
  await admitted(7, "e1");
  deadEdges.add("e1");
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

test("a host is not given up before it can have returned in the window that it was given", async () => {
  reconnectSeconds = 60;
  await presence.connected(connection(9));
  await admitted(9, "e9");
  deadEdges.add("e9");
  await presence.disconnected(connection(9), "Read Error");
  await moveClock(service.url, 65);
  await presence.sweep();
  assert.equal(await shown(), "online moving");
  await moveClock(service.url, 71);
  await presence.sweep();
  assert.equal(await shown(), "offline link_lost");
});

test("A14: a host that leaves an edge that answers is offline", async () => {
  await presence.connected(connection(10));
  await admitted(10, "e2");
  await presence.disconnected(connection(10), "Read Error");
  assert.equal(await shown(), "offline link_lost");
});

test("a host that moves at once is not mistaken for one that leaves its new edge", async () => {
  await presence.connected(connection(30));
  await admitted(30, "e3");
  deadEdges.add("e3");
  // The notice of the new edge overtakes both the end of the old connection and the start of the new one.
  await admitted(31, "e4");
  await presence.disconnected(connection(30), "Read Error");
  assert.equal(await shown(), "online moving");
  await presence.connected(connection(31));
  assert.equal(await shown(), "online");
  await presence.disconnected(connection(31), "Read Error");
  assert.equal(await shown(), "offline link_lost");
});

test("an edge's notice that comes after the start of the connection counts for that connection", async () => {
  await presence.connected(connection(32));
  await admitted(32, "e5");
  await presence.connected(connection(33));
  await admitted(33, "e6");
  await presence.disconnected(connection(32), "Client Closed");
  deadEdges.add("e6");
  await presence.disconnected(connection(33), "Read Error");
  assert.equal(await shown(), "online moving");
});

test("a host that stays away is looked for before it is shown offline", async () => {
  await presence.connected(connection(34));
  await admitted(34, "e7");
  deadEdges.add("e7");
  await presence.disconnected(connection(34), "Read Error");
  await moveClock(service.url, 16);
  list = () => Promise.reject(new Error("No server answers."));
  await assert.rejects(presence.sweep());
  assert.equal(await shown(), "online moving", "nothing is known without an answer");
  list = () => Promise.resolve({ ...lists, listed: [{ ...connection(35), name: "" }] });
  answer([connection(35)]);
  await presence.sweep();
  assert.equal(await shown(), "online", "it is connected, and the event was lost");
});

test("a comparison heals a connect and a disconnect that nobody heard", async () => {
  await compare([connection(9)]);
  assert.equal(await shown(), "online");
  await compare([]);
  assert.equal(await shown(), "offline link_lost");
});

test("a comparison does not take a name for a proof, and skips what has ended meanwhile", async () => {
  list = () => Promise.resolve({ ...lists, listed: [{ ...connection(15), name: host.key }] });
  await compare([]);
  assert.equal(await shown(), "pairing never_paired");
});

test("a comparison asks the edge of a connection whose end nobody heard", async () => {
  await presence.connected(connection(16));
  await admitted(16, "e8");
  deadEdges.add("e8");
  await compare([]);
  assert.equal(await shown(), "online moving");
});

test("a connection that is noted while the servers are asked is kept", async () => {
  list = async () => {
    await presence.connected(connection(14));
    return { ...lists, listed: [] };
  };
  await compare([]);
  assert.equal(await shown(), "online");
});

test("hosts of a server that died are moving, not offline", async () => {
  await presence.connected(connection(10, "dead"));
  assert.deepEqual(await compare([]), { isDoubtful: true });
  assert.equal(await shown(), "online", "a server may miss one question");
  assert.deepEqual(await compare([]), { isDoubtful: false });
  assert.equal(await shown(), "online moving");
});

test("a silent server is not lost while another has a route to it, or if it answers in between", async () => {
  await presence.connected(connection(17, "frozen"));
  const routed = new Set(["frozen"]);
  for (let times = 0; times < 3; times++)
    assert.deepEqual(await compare([], { routed }), { isDoubtful: false });
  assert.equal(await shown(), "online");
  const servers = new Set(["n1", "frozen"]);
  await compare([connection(17, "frozen")], { servers });
  assert.deepEqual(await compare([]), { isDoubtful: true });
  assert.equal(await shown(), "online", "its misses are counted again from the first");
  await compare([]);
  assert.equal(await shown(), "online moving");
});

test("a comparison that changes nothing reports nothing", async () => {
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
    kick: () => Promise.resolve(),
    sources,
    log: createLog("silent"),
    changed: () => {},
    reconnectSeconds: () => reconnectSeconds,
    lateMs: 0,
  });
  const notice = ({ user, ...each }: FabricConnection, edgeId: string) =>
    other.admitted({ publicKey: user, edgeId, ...each });
  const many = await Promise.all(Array.from({ length: 100 }, pairedHost));
  const all = many.map(({ key }, index) => ({ ...connection(10_000 + index), user: key }));
  const mixed = all.toSorted(() => Math.random() - 0.5);
  for (let round = 0; round < 5; round++) {
    await Promise.all([
      ...all.map((each) => presence.connected(each)),
      ...mixed.map((each) => notice(each, `e${round}`)),
      ...mixed.map((each) => other.connected({ ...each, clientId: each.clientId + 10_000 })),
    ]);
    await Promise.all([
      ...mixed.map((each) => presence.disconnected(each, "Read Error")),
      ...all.map((each) => notice(each, "e")),
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

test("connections that a server did not list to the end stay as they are, and those that it listed are accepted", async () => {
  const another = await pairedHost();
  await presence.connected(connection(21));
  const cut = new Set(["n1"]);
  await compare([{ ...connection(22), user: another.key }], { cut });
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
