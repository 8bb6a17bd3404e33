// The daily quota of log bytes on a real PostgreSQL: reports as hosts send them, and what is stored.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { moveClock } from "@hawser/testkit/clock.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { until } from "@hawser/testkit/until.ts";
import { createUpCalls } from "../instances/up-calls.ts";
import { createLog } from "../log.ts";
import { createIntake } from "./intake.ts";
import { createLogQuota } from "./log-quota.ts";

let service: ServiceDatabase;
let node: Node;

before(async () => {
  service = await openServiceDatabase();
  node = openNode();
});

beforeEach(() => moveClock(service.url, 0));

after(async () => {
  await node.close();
  await service[Symbol.asyncDispose]();
});

test("A6: reports over the quota are refused unread, and all arrive in order once it is raised", async () => {
  const host = await addHost("acme");
  const neighbour = await addHost("globex");
  await setQuota("acme", 1_000);
  // About 130 bytes each.
  const accepted = await sendUntilRefused(host, 1, 100);
  assert.ok(accepted >= 7 && accepted <= 8, `${accepted} entries were accepted`);
  assert.deepEqual(node.warned, [host.organizationId]);
  await until("the warning can be read", () => node.changed.length === 1);
  // The report is not parsed: this one would throw.
  assert.deepEqual(await node.send(host, "not JSON"), refused);
  assert.deepEqual(await send(host, accepted + 1, accepted + 20), refused);
  assert.equal(node.refusals(), 3);
  assert.deepEqual([node.warned.length, node.changed.length], [1, 1]);
  assert.deepEqual(await send(neighbour, 1, 20), applied(neighbour, 20));

  await setQuota("acme", 1_000_000);
  // The host sends everything that was not acknowledged.
  assert.deepEqual(await send(host, accepted + 1, 100), applied(host, 100));
  assert.deepEqual(await storedSeqs(host), range(1, 100));
  assert.deepEqual(node.changed, [host.shownId, host.shownId]);
});

test("A6: what one node has stored counts on the others, and not on the next day", async () => {
  const host = await addHost("initech");
  await setQuota("initech", 1_000);
  await using another = openNode();
  assert.deepEqual(await send(host, 1, 10), applied(host, 10));
  await node.flush();
  const [used] = await ownerSql<{ bytes: string; counted: string }>(
    service.url,
    `SELECT bytes, (SELECT sum(length(update::text)) FROM session_log WHERE session_id = $1) AS counted
       FROM log_quotas WHERE organization_id = $2`,
    [parseId("session", host.sessionId), host.organizationId],
  );
  // PostgreSQL prints JSON with a blank after each colon and comma: 5 more for each entry.
  assert.equal(Number(used!.bytes), Number(used!.counted) - 10 * 5);
  assert.deepEqual(await send(host, 11, 12, another), refused);
  await moveClock(service.url, 86_400);
  assert.deepEqual(await send(host, 11, 12, another), applied(host, 12));
  await another.flush();
  assert.deepEqual(await send(host, 13, 13), applied(host, 13));
});

interface Host {
  organizationId: string;
  shownId: string;
  sessionId: string;
}

type Node = ReturnType<typeof openNode>;

const refused = { refused: "quota_exceeded", retryAfterMs: 300_000 };

const applied = ({ sessionId }: Host, appliedSeq: number) => ({
  applied: [{ sessionId, appliedSeq }],
});

function openNode() {
  const { database } = service;
  const log = createLog("silent");
  const warned: string[] = [];
  log.warn = (fields: object) => void warned.push((fields as Host).organizationId);
  const changed: string[] = [];
  let refusals = 0;
  const logQuota = createLogQuota({
    system: database.system,
    changed: ({ shownId }) => changed.push(shownId),
    countRefusal: () => (refusals += 1),
    log,
  });
  const intake = createIntake({
    database,
    onApplied: () => {},
    countBytes: (organizationId, bytes) => logQuota.count(organizationId, bytes),
    log,
  });
  const upCalls = createUpCalls({
    database,
    intake,
    logQuota,
    sightings: { note: () => {} },
    viewers: { notify: () => {} },
    presence: { recorded: () => Promise.reject(new Error("No host says hello here.")) },
    isBack: () => {},
    reconnectSeconds: () => 1,
    renewToken: () => Promise.reject(new Error("No host renews its token here.")),
    removed: { answerInstance: () => Promise.reject(new Error("No host is removed here.")) },
  });
  const close = () => intake.close();
  return {
    warned,
    changed,
    refusals: () => refusals,
    flush: () => logQuota.flush(),
    send: (host: Host, body: string) => upCalls.answer(host.shownId, "report", Buffer.from(body)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Creates an organization with a paired host and its session. */
async function addHost(name: string): Promise<Host> {
  const made = await createTestOrganization(service.database, name, `a@${name}.example`);
  const organizationId = parseId("organization", made.organizationId)!;
  const [row] = await ownerSql<{ instance_id: string; session_id: string }>(
    service.url,
    `WITH i AS (INSERT INTO instances (organization_id, name, host_key) VALUES ($1, 'box', $2)
                RETURNING organization_id, instance_id),
          k AS (INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at)
                SELECT organization_id, instance_id, $2, 'm', now() FROM i)
     INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by)
     SELECT organization_id, instance_id, 'codex', '{}' FROM i RETURNING instance_id, session_id`,
    [organizationId, `U-${name}`],
  );
  return {
    organizationId,
    shownId: formatId("instance", row!.instance_id),
    sessionId: formatId("session", row!.session_id),
  };
}

const setQuota = (name: string, bytes: number) =>
  ownerSql(service.url, "UPDATE organizations SET log_bytes_per_day = $2 WHERE name = $1", [
    name,
    bytes,
  ]);

function send(host: Host, from: number, to: number, by = node) {
  const entries = range(from, to).map((seq) => ({
    seq,
    at: "2026-11-15T10:00:00.000Z",
    turnId: null,
    update: { sessionUpdate: "agent_message_chunk", messageId: `m${seq}`, text: "x".repeat(60) },
  }));
  const report = { journalId: "j1", sessions: [{ sessionId: host.sessionId, entries }] };
  return by.send(host, JSON.stringify(report));
}

/** Sends one entry at a time, and returns the last one that was accepted. */
async function sendUntilRefused(host: Host, from: number, most: number): Promise<number> {
  for (let seq = from; seq <= most; seq++) {
    const reply = await send(host, seq, seq);
    if ("applied" in reply) continue;
    assert.deepEqual(reply, refused);
    return seq - 1;
  }
  return most;
}

async function storedSeqs({ sessionId }: Host) {
  const rows = await ownerSql<{ seq: string }>(
    service.url,
    "SELECT seq FROM session_log WHERE session_id = $1 ORDER BY at, seq",
    [parseId("session", sessionId)],
  );
  return rows.map(({ seq }) => Number(seq));
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
