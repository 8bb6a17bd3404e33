// Revocation on real nats-servers: a revoked host is disconnected at once and stays out, whatever
// happens to the servers, their disks and the clocks.
import assert from "node:assert/strict";
import { after, before, beforeEach, test, type TestContext } from "node:test";
import { makeNkey, type Nkey } from "@hawser/host-protocol";
import { parseId } from "@hawser/contract";
import { moveClock } from "@hawser/testkit/clock.ts";
import { startNats, type NatsServer } from "@hawser/testkit/nats.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { connectRawHost } from "@hawser/testkit/raw-host.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { until } from "@hawser/testkit/until.ts";
import { createLog } from "../log.ts";
import { connectFabric, type Fabric } from "./connection.ts";
import { makeFabricKeys } from "./fabric-keys.ts";
import { createHostTokens } from "./host-token.ts";
import { createRevocations, mostEntries, type PushedRevocations } from "./revocation.ts";

const log = createLog("silent");
const { keys } = makeFabricKeys();
const tokens = createHostTokens(keys, 3600);
let service: ServiceDatabase;
let instance: [organizationId: string, instanceId: string];

before(async () => {
  service = await openServiceDatabase();
  instance = await addInstance("Acme");
});

after(async () => {
  await service[Symbol.asyncDispose]();
});

async function addInstance(organization: string): Promise<typeof instance> {
  const { organizationId } = await createTestOrganization(
    service.database,
    organization,
    `${organization}@x.example`,
  );
  const stored = parseId("organization", organizationId)!;
  const [row] = await ownerSql<{ instance_id: string }>(
    service.url,
    `INSERT INTO instances (organization_id, name) VALUES ($1, 'box') RETURNING instance_id`,
    [stored],
  );
  return [stored, row!.instance_id];
}

async function keepKeys(
  hosts: Nkey[],
  expiresIn = "1 hour",
  instanceId = instance[1],
  organizationId = instance[0],
): Promise<void> {
  await ownerSql(
    service.url,
    `INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at)
     SELECT $1, $2, unnest($3::text[]), 'm', hawser_now() + $4::interval`,
    [organizationId, instanceId, hosts.map(({ publicKey }) => publicKey), expiresIn],
  );
}

async function revoke(...hosts: Nkey[]): Promise<void> {
  await ownerSql(
    service.url,
    `UPDATE host_keys SET revoked_at = hawser_now() WHERE public_key = ANY($1)`,
    [hosts.map(({ publicKey }) => publicKey)],
  );
}

beforeEach(() => ownerSql(service.url, `DELETE FROM host_keys`));

function dialAs(key: Nkey, server: NatsServer, mintedAt = Date.now()) {
  const { token } = tokens.mint("ins_a", key.publicKey, mintedAt);
  return connectRawHost({ address: server.websocket, key, token });
}

async function dialFabric(t: TestContext, urls: string[]): Promise<Fabric> {
  const fabric = await connectFabric({ keys, urls, name: "node.test", log });
  t.after(() => fabric.close());
  return fabric;
}

const revocationsBy = (fabric: Fabric) =>
  createRevocations({ database: service.database, fabric, keys });
const isRefused = (dialled: Promise<Disposable>) =>
  dialled.then(
    (host) => {
      host[Symbol.dispose]();
      return false;
    },
    (error: Error) => /Authorization Violation/.test(error.message),
  );

test("a revoked host's socket is closed within a second and it does not come back; others do not notice", async (t) => {
  await using nats = await startNats({ keys });
  const [server] = nats.servers as [NatsServer];
  const fabric = await dialFabric(t, nats.urls);
  const revocations = revocationsBy(fabric);
  const keyOfOther = makeNkey("user");
  const revoked = Array.from({ length: 20 }, () => makeNkey("user"));
  await keepKeys([keyOfOther, ...revoked]);
  using other = await dialAs(keyOfOther, server);
  const took: number[] = [];
  for (const key of revoked) {
    using host = await dialAs(key, server);
    await revoke(key);
    const started = performance.now();
    await Promise.all([revocations.push(), host.untilClosed()]);
    took.push(performance.now() - started);
    assert.ok(host.lines.some((line) => /User Authentication Revoked/.test(line)));
    assert.ok(await isRefused(dialAs(key, server)));
  }
  took.sort((a, b) => a - b);
  t.diagnostic(
    `push to closed socket: median ${took[10]!.toFixed(1)} ms, longest ${took[19]!.toFixed(1)} ms`,
  );
  assert.ok(took[19]! < 1_000);
  assert.deepEqual(await other.say(""), []);
});

test("a token from a node whose clock is ahead of the database's is revoked as well", async (t) => {
  await using nats = await startNats({ keys });
  const [server] = nats.servers as [NatsServer];
  const fabric = await dialFabric(t, nats.urls);
  const key = makeNkey("user");
  await keepKeys([key]);
  using host = await dialAs(key, server, Date.now() + 30_000);
  await revoke(key);
  await Promise.all([revocationsBy(fabric).push(), host.untilClosed()]);
  assert.ok(await isRefused(dialAs(key, server, Date.now() + 60_000)));
});

test("no host gets in before the revocations are pushed, and a wiped disk undoes none", async (t) => {
  await using nats = await startNats({ keys, admitHosts: false });
  const [server] = nats.servers as [NatsServer];
  const fabric = await dialFabric(t, nats.urls);
  const revocations = revocationsBy(fabric);
  const [good, bad] = [makeNkey("user"), makeNkey("user")];
  await keepKeys([good, bad]);
  await revoke(bad);
  for (let round = 0; round < 3; round++) {
    // Neither is accepted yet: the server cannot know which of them is revoked.
    assert.ok(await isRefused(dialAs(good, server)));
    assert.ok(await isRefused(dialAs(bad, server)));
    await revocations.push();
    assert.ok(!(await isRefused(dialAs(good, server))));
    assert.ok(await isRefused(dialAs(bad, server)));
    await server.restart();
    assert.ok(!(await isRefused(dialAs(good, server))), "a restart alone changes nothing");
    assert.ok(await isRefused(dialAs(bad, server)));
    await server.restart({ wipe: true });
    await until("the node is back", () => fabric.isConnected());
  }
});

/** The keys that the fabric's account of the hosts lists as revoked. */
async function listedBy(fabric: Fabric): Promise<string[]> {
  const subject = `$SYS.REQ.ACCOUNT.${keys.accountPublicKey}.CLAIMS.LOOKUP`;
  const account = Buffer.from(await fabric.system.request(subject, "", { timeoutMs: 2_000 }));
  const payload = Buffer.from(account.toString().split(".")[1]!, "base64url").toString();
  const { nats } = JSON.parse(payload) as { nats: { revocations?: object } };
  return Object.keys(nats.revocations ?? {});
}

test("an entry goes ten minutes after the last token it could hit has run out", async (t) => {
  await using nats = await startNats({ keys });
  const fabric = await dialFabric(t, nats.urls);
  const revocations = revocationsBy(fabric);
  const key = makeNkey("user");
  await keepKeys([key], "1 hour");
  await revoke(key);
  const listed = async () => {
    await revocations.push();
    return listedBy(fabric);
  };
  assert.deepEqual(await listed(), [key.publicKey]);
  await moveClock(service.url, 69 * 60);
  assert.deepEqual(await listed(), [key.publicKey]);
  await moveClock(service.url, 71 * 60);
  assert.deepEqual(await listed(), []);
  await moveClock(service.url, 0);
  assert.deepEqual(await listed(), [key.publicKey], "also when the clock went back");
});

test("many nodes revoking at once lose none, and share pushes", async (t) => {
  await using nats = await startNats({ keys });
  const [server] = nats.servers as [NatsServer];
  const fabrics = await Promise.all([0, 1, 2].map(() => dialFabric(t, nats.urls)));
  const nodes = fabrics.map(revocationsBy);
  let pushes = 0;
  fabrics[0]!.system.subscribe("$SYS.REQ.CLAIMS.UPDATE", {}, () => void (pushes += 1));
  await fabrics[0]!.system.flush();
  const revoked = Array.from({ length: 30 }, () => makeNkey("user"));
  await keepKeys(revoked);
  const hosts = await Promise.all(revoked.map((key) => dialAs(key, server)));
  await Promise.all(
    revoked.map(async (key, i) => {
      await revoke(key);
      await nodes[i % 3]!.push();
      assert.ok(await isRefused(dialAs(key, server)), "refused as soon as push resolves");
    }),
  );
  await Promise.all(hosts.map((host) => host.untilClosed()));
  for (const key of revoked) assert.ok(await isRefused(dialAs(key, server)));
  assert.ok(pushes < 30, `${pushes} pushes`);
});

test("a thousand revoked hosts are pushed in a moment", async (t) => {
  await using nats = await startNats({ keys });
  const [server] = nats.servers as [NatsServer];
  const fabric = await dialFabric(t, nats.urls);
  const revocations = revocationsBy(fabric);
  const revoked = Array.from({ length: 1_000 }, () => makeNkey("user"));
  await keepKeys(revoked);
  await revoke(...revoked);
  const took: number[] = [];
  for (let i = 0; i < 5; i++) {
    const started = performance.now();
    await revocations.push();
    took.push(performance.now() - started);
  }
  t.diagnostic(`1,000 entries: ${took.map((ms) => ms.toFixed(0)).join(", ")} ms`);
  assert.ok(Math.min(...took) < 1_000);
  assert.ok(await isRefused(dialAs(revoked[999]!, server)));
});

test("if there is no room for all, replaced hosts and then the newest revocations are pushed", async (t) => {
  await using nats = await startNats({ keys });
  const [server] = nats.servers as [NatsServer];
  const fabric = await dialFabric(t, nats.urls);
  let pushed: PushedRevocations | undefined;
  const revocations = createRevocations({
    database: service.database,
    fabric,
    keys,
    observe: (what) => void (pushed = what),
    most: 3,
  });
  const [first, second, third, replaced] = Array.from({ length: 4 }, () => makeNkey("user")) as [
    Nkey,
    Nkey,
    Nkey,
    Nkey,
  ];
  await keepKeys([replaced]);
  await revoke(replaced);
  const [gone] = await ownerSql<{ instance_id: string }>(
    service.url,
    `INSERT INTO instances (organization_id, name, deleted_at) VALUES ($1, 'gone', hawser_now())
     RETURNING instance_id`,
    [instance[0]],
  );
  for (const [minutes, key] of [first, second, third].entries()) {
    await moveClock(service.url, minutes * 60);
    await keepKeys([key], "1 hour", gone!.instance_id);
    await revoke(key);
  }
  await moveClock(service.url, 0);
  await revocations.push();
  const expected = [second, third, replaced].map(({ publicKey }) => publicKey);
  assert.deepEqual((await listedBy(fabric)).sort(), expected.sort());
  assert.deepEqual([pushed!.entries, pushed!.omitted], [3, 1]);
  assert.ok(await isRefused(dialAs(third, server)));
});

test("an organization that replaces a host again and again pushes no other off the list", async (t) => {
  await using nats = await startNats({ keys });
  const fabric = await dialFabric(t, nats.urls);
  const { database } = service;
  const revocations = createRevocations({ database, fabric, keys, most: 3 });
  const [victim, ...many] = Array.from({ length: 6 }, () => makeNkey("user")) as [Nkey, ...Nkey[]];
  const [organizationId, instanceId] = await addInstance("Globex");
  await keepKeys([victim], "1 hour", instanceId, organizationId);
  await revoke(victim);
  await moveClock(service.url, 60);
  await keepKeys(many);
  await revoke(...many);
  await revocations.push();
  await moveClock(service.url, 0);
  const listed = await listedBy(fabric);
  assert.equal(listed.length, 3);
  assert.ok(listed.includes(victim.publicKey));
});

test("the longest list fits: 11,000 revoked hosts are pushed within a second", async (t) => {
  await using nats = await startNats({ keys });
  const [server] = nats.servers as [NatsServer];
  const fabric = await dialFabric(t, nats.urls);
  let pushed: PushedRevocations | undefined;
  const revocations = createRevocations({
    database: service.database,
    fabric,
    keys,
    observe: (what) => void (pushed = what),
  });
  const revoked = Array.from({ length: mostEntries + 1 }, () => makeNkey("user"));
  await keepKeys(revoked);
  await revoke(...revoked);
  const started = performance.now();
  await revocations.push();
  const tookMs = performance.now() - started;
  t.diagnostic(`${pushed!.entries} entries, ${pushed!.bytes} bytes: ${tookMs.toFixed(0)} ms`);
  assert.ok(mostEntries > 11_000);
  assert.deepEqual([pushed!.entries, pushed!.omitted], [mostEntries, 1]);
  assert.ok(tookMs < 1_000);
  const refused = await Promise.all(revoked.slice(-2).map((key) => isRefused(dialAs(key, server))));
  assert.ok(refused.includes(true));
});

test("no transaction and no lock is held while the servers are asked", async (t) => {
  await using nats = await startNats({ keys });
  const fabric = await dialFabric(t, nats.urls);
  let asked = 0;
  const requestMany: Fabric["system"]["requestMany"] = async (...request) => {
    const [row] = await ownerSql<{ open: number; locks: number }>(
      service.url,
      `SELECT (SELECT count(*)::int FROM pg_stat_activity
                WHERE datname = current_database() AND state LIKE 'idle in transaction%') AS open,
              (SELECT count(*)::int FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                WHERE d.datname = current_database() AND l.pid <> pg_backend_pid()) AS locks`,
    );
    assert.deepEqual({ ...row }, { open: 0, locks: 0 });
    asked += 1;
    return fabric.system.requestMany(...request);
  };
  const system = { ...fabric.system, requestMany };
  await createRevocations({ database: service.database, fabric: { system }, keys }).push();
  assert.ok(asked > 0);
});

test("a node that lost its turn while it pushed pushes again", async (t) => {
  await using nats = await startNats({ keys });
  const fabric = await dialFabric(t, nats.urls);
  let asked = 0;
  const requestMany: Fabric["system"]["requestMany"] = async (...request) => {
    // As a node does that took this one for dead.
    if (++asked === 1) {
      await ownerSql(service.url, "UPDATE leases SET fence = fence + 1 WHERE name LIKE 'push%'");
    }
    return fabric.system.requestMany(...request);
  };
  const system = { ...fabric.system, requestMany };
  const revocations = createRevocations({ database: service.database, fabric: { system }, keys });
  await revocations.push();
  assert.equal(asked, 3, "the account, the system account, and the account again");
});

test("the turn of a node that died ends by itself", async (t) => {
  await using nats = await startNats({ keys });
  const fabric = await dialFabric(t, nats.urls);
  const revocations = revocationsBy(fabric);
  await revocations.push();
  await ownerSql(
    service.url,
    "UPDATE leases SET until = hawser_now() + interval '1 second' WHERE name LIKE 'push%'",
  );
  const started = performance.now();
  await revocations.push();
  const tookMs = performance.now() - started;
  assert.ok(tookMs > 500 && tookMs < 3_000, `${tookMs} ms`);
  // A turn from a clock that was ahead holds up nobody.
  await ownerSql(
    service.url,
    "UPDATE leases SET until = hawser_now() + interval '1 day' WHERE name LIKE 'push%'",
  );
  await revocations.push();
});

test("a push says so when NATS is away or refuses it, and the next one works", async (t) => {
  await using nats = await startNats({ keys });
  const fabric = await dialFabric(t, nats.urls);
  const revocations = revocationsBy(fabric);
  const stranger = createRevocations({
    database: service.database,
    fabric,
    keys: { ...keys, accountPublicKey: "not an account" },
  });
  await assert.rejects(stranger.push(), /n1 did not accept the revocations: .+/);
  await nats.servers[0]!.kill();
  await until("the loss is noticed", () => !fabric.isConnected());
  await assert.rejects(revocations.push(), /NATS is not connected/);
  await nats.servers[0]!.restart();
  await until("the node is back", () => fabric.isConnected());
  await revocations.push();
});

test("in a cluster every server takes it, one that is down learns it, and a wiped one asks the others", async (t) => {
  await using nats = await startNats({ keys, servers: 3, admitHosts: false });
  const [first, second, third] = nats.servers as [NatsServer, NatsServer, NatsServer];
  const fabric = await dialFabric(t, [first.url]);
  const revocations = revocationsBy(fabric);
  const [good, bad, late] = [makeNkey("user"), makeNkey("user"), makeNkey("user")];
  await keepKeys([good, bad, late]);
  await revocations.push();
  const hosts = await Promise.all([second, third].map((server) => dialAs(bad, server)));
  await revoke(bad);
  const started = performance.now();
  await Promise.all([revocations.push(), ...hosts.map((host) => host.untilClosed())]);
  t.diagnostic(`closed on the other servers after ${(performance.now() - started).toFixed(1)} ms`);

  // Down while another host is revoked, and back with its old disk.
  await third.kill();
  await revoke(late);
  const pushed = performance.now();
  await revocations.push();
  t.diagnostic(`push with a server down: ${(performance.now() - pushed).toFixed(1)} ms`);
  await third.restart();
  const back = performance.now();
  await until("the server that was away knows", () => isRefused(dialAs(late, third)), 15_000);
  t.diagnostic(`known there ${(performance.now() - back).toFixed(0)} ms after its start`);

  await third.restart({ wipe: true });
  assert.ok(await isRefused(dialAs(bad, third)));
  assert.ok(await isRefused(dialAs(late, third)));
  await until(
    "the wiped server lets hosts in",
    async () => !(await isRefused(dialAs(good, third))),
    15_000,
  );
  assert.ok(await isRefused(dialAs(bad, third)));
  assert.ok(await isRefused(dialAs(late, third)));
});
