// Messages of hosts: while the lookup of their senders waits for the database, hellos of hosts that have
// left, and hellos that come before the record of their connection.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import type { ConnectionId } from "../fabric/list-connections.ts";
import { createLog } from "../log.ts";
import { createPresence, type Presence } from "./presence.ts";
import { createUpCalls, type UpCalls } from "./up-calls.ts";

const instanceId = formatId("instance", "01980000-0000-7000-8000-000000000001");
const unknown = { refused: "unknown_host", retryAfterMs: 1_000 } as const;
const busy = { refused: "rate_limited", retryAfterMs: 1_000 };
const unused = () => Promise.reject(new Error("Not used here."));

const createTestPresence = ({ database }: ServiceDatabase) =>
  createPresence({
    database,
    sources: { list: unused, identify: unused, isEdgeAlive: () => Promise.resolve(true) },
    kick: unused,
    log: createLog("silent"),
    changed: () => {},
    reconnectSeconds: () => 1,
  });

const createTestUpCalls = (
  { database }: ServiceDatabase,
  presence: Pick<Presence, "recorded"> = { recorded: unused },
) =>
  createUpCalls({
    database,
    intake: { accept: unused, close: unused },
    logQuota: { refusal: () => undefined },
    sightings: { note: () => {} },
    renewToken: unused,
    removed: { answerInstance: () => Promise.resolve(unknown) },
    viewers: { notify: () => {} },
    presence,
    isBack: () => {},
    reconnectSeconds: () => 1,
  });

test("messages that wait for the lookup of their hosts are limited; more are sent again later", async () => {
  await using service = await openServiceDatabase();
  const upCalls = createTestUpCalls(service);
  const report = () => upCalls.answer(instanceId, "report", new Uint8Array(512 * 1024));
  let held: Promise<object>[];
  {
    await using _held = await holdRow(service.url, "LOCK TABLE host_keys");
    held = Array.from({ length: 65 }, report);
    assert.deepEqual(await report(), busy);
    assert.deepEqual(await upCalls.answer(instanceId, "heartbeat", new Uint8Array(20)), busy);
  }
  assert.deepEqual(new Set(await Promise.all(held)), new Set([unknown]));
  assert.deepEqual(await report(), unknown);
});

/** A host that was shown offline, and its hellos. */
async function addHost(service: ServiceDatabase, upCalls: UpCalls) {
  const organization = await createTestOrganization(service.database, "Acme", "ada@acme.example");
  const organizationId = parseId("organization", organization.organizationId);
  const [host] = await ownerSql<{ instance_id: string }>(
    service.url,
    `WITH i AS (INSERT INTO instances (organization_id, name, status, status_reason, host_key)
                VALUES ($1, 'box', 'offline', 'link_lost', 'K') RETURNING organization_id, instance_id),
          k AS (INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at)
                SELECT organization_id, instance_id, 'K', 'm', hawser_now() + interval '1 day' FROM i)
     SELECT instance_id FROM i`,
    [organizationId],
  );
  const facts = {
    host: { hostname: "box", os: "linux", arch: "x64" },
    daemonVersion: "0.1.0",
    agents: [],
    roots: [],
    codeHostingCli: null,
    warnings: [],
    operations: [],
  };
  const hello = { protocol: 1, machineId: "m", journalId: "j", bootId: "b", facts, sessions: [] };
  return {
    say: (connection?: ConnectionId) =>
      upCalls.answer(
        formatId("instance", host!.instance_id),
        "hello",
        Buffer.from(JSON.stringify({ ...hello, connection })),
      ),
    shown: async () => {
      const [row] = await ownerSql<{ status: string; status_reason: string | null; facts: string }>(
        service.url,
        "SELECT status, status_reason, daemon_version FROM instances",
      );
      return Object.values(row!);
    },
  };
}

const connection = (clientId: number) => ({
  serverId: `N${"A".repeat(55)}`,
  clientId,
  user: "K",
});

test("a hello that is stored after its connection has ended does not show the host online", async () => {
  await using service = await openServiceDatabase();
  const presence = createTestPresence(service);
  const { say, shown } = await addHost(service, createTestUpCalls(service, presence));
  await say();
  assert.deepEqual(await shown(), ["offline", "link_lost", "0.1.0"]);
  await presence.connected(connection(1));
  await say();
  assert.deepEqual(await shown(), ["online", null, "0.1.0"]);
});

test("a hello is answered when its connection is recorded, so that the host does not end the former one before", async () => {
  await using service = await openServiceDatabase();
  const presence = createTestPresence(service);
  const asked = Promise.withResolvers<ConnectionId>();
  const arrived = Promise.withResolvers<void>();
  const upCalls = createTestUpCalls(service, {
    async recorded(each) {
      asked.resolve(each);
      await arrived.promise;
      await presence.recorded(each);
    },
  });
  const { say, shown } = await addHost(service, upCalls);
  await presence.connected(connection(1));
  const events: string[] = [];
  // The host ends its former connection as soon as it has the answer.
  const { user: _, ...next } = connection(2);
  const renewal = say(next).then(async () => {
    events.push("answered");
    await presence.disconnected(connection(1), "Client Closed");
    return shown();
  });
  // The hello is stored, and the event that its connection started is still under way.
  const isEarly = renewal.then((status) => assert.fail(`answered at once: ${status.join(" ")}`));
  assert.deepEqual(await Promise.race([asked.promise, isEarly]), next);
  events.push("recorded");
  await presence.connected(connection(2));
  arrived.resolve();
  isEarly.catch(() => {});
  assert.deepEqual(await renewal, ["online", null, "0.1.0"]);
  assert.deepEqual(events, ["recorded", "answered"]);
});
