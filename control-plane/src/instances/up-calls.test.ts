// Messages of hosts: while the lookup of their senders waits for the database, and hellos of hosts that have
// left.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createUpCalls } from "./up-calls.ts";

const instanceId = formatId("instance", "01980000-0000-7000-8000-000000000001");
const unknown = { refused: "unknown_host", retryAfterMs: 1_000 } as const;
const busy = { refused: "rate_limited", retryAfterMs: 1_000 };
const unused = () => Promise.reject(new Error("Not used here."));

const createTestUpCalls = ({ database }: ServiceDatabase) =>
  createUpCalls({
    database,
    intake: { accept: unused, close: unused },
    logQuota: { refusal: () => undefined },
    sightings: { note: () => {} },
    renewToken: unused,
    removed: { answerInstance: () => Promise.resolve(unknown) },
    viewers: { notify: () => {} },
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

test("a hello that is stored after its connection has ended does not show the host online", async () => {
  await using service = await openServiceDatabase();
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
  const upCalls = createTestUpCalls(service);
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
  const say = () =>
    upCalls.answer(
      formatId("instance", host!.instance_id),
      "hello",
      Buffer.from(JSON.stringify(hello)),
    );
  const shown = async () => {
    const [row] = await ownerSql<{ status: string; status_reason: string | null; facts: string }>(
      service.url,
      "SELECT status, status_reason, daemon_version FROM instances",
    );
    return Object.values(row!);
  };
  await say();
  assert.deepEqual(await shown(), ["offline", "link_lost", "0.1.0"]);
  await ownerSql(
    service.url,
    `INSERT INTO host_connections (server_id, client_id, public_key, organization_id, instance_id)
     VALUES ('s', 1, 'K', $1, $2)`,
    [organizationId, host!.instance_id],
  );
  await say();
  assert.deepEqual(await shown(), ["online", null, "0.1.0"]);
});
