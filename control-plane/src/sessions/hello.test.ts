import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { openLog } from "../log.ts";
import type { ReportingHost } from "./apply-reports.ts";
import { answerHellos, type SaidHello } from "./hello.ts";
import { openIntake } from "./intake.ts";

let service: ServiceDatabase;
let organizationId: string;

before(async () => {
  service = await openServiceDatabase();
  const made = await createTestOrganization(service.database, "acme", "owner@x.example");
  organizationId = parseId("organization", made.organizationId)!;
});

after(() => service[Symbol.asyncDispose]());

test("a host is told how far each of its own sessions is applied, and nothing of others", async () => {
  const mine = await addSession({ appliedSeq: 7, journalId: "j1" });
  const fresh = await addSession({ host: mine.host });
  const deleted = await addSession({ host: mine.host, deleted: true });
  const others = await addSession({ appliedSeq: 3 });
  const named = [mine, deleted, others, fresh].map(({ sessionId }) => sessionId);
  assert.deepEqual(await hello(mine.host, "j1", 9, ...named, "ses_unknown"), [
    { sessionId: mine.sessionId, appliedSeq: 7 },
    { sessionId: fresh.sessionId, appliedSeq: 0 },
  ]);
  assert.equal(await journalOf(fresh.sessionId), "j1");
  assert.equal(await journalOf(others.sessionId), null);
  assert.deepEqual(await hello(mine.host, "j1", 0), []);
});

test("a journal that is new becomes the log's, and what the former still has under way is refused", async () => {
  const { host, sessionId } = await addSession({ appliedSeq: 7, journalId: "j1" });
  assert.deepEqual(await hello(host, "j2", 0, sessionId), [{ sessionId, appliedSeq: 7 }]);
  assert.equal(await journalOf(sessionId), "j2");
  const report = (journalId: string, sessionUpdate: string) => ({
    journalId,
    sessions: [
      {
        sessionId,
        entries: [{ seq: 8, at: "2026-11-15T10:00:00Z", turnId: null, update: { sessionUpdate } }],
      },
    ],
  });
  const { database } = service;
  const intake = openIntake({ database, onApplied: () => {}, log: openLog("silent") });
  assert.deepEqual(await intake.take(host, report("j1", "plan")), { failed: true });
  assert.deepEqual(await intake.take(host, report("j2", "journal_reset")), {
    applied: [{ sessionId, appliedSeq: 8 }],
  });
  await intake.close();
});

test("a journal older than what is applied is answered with what is applied", async () => {
  const { host, sessionId } = await addSession({ appliedSeq: 7, journalId: "j1" });
  assert.deepEqual(await hello(host, "j1", 4, sessionId), [{ sessionId, appliedSeq: 7 }]);
});

test("another journal that claims more than is applied does not become the log's by saying so", async () => {
  const { host, sessionId } = await addSession({ appliedSeq: 7, journalId: "j1" });
  assert.deepEqual(await hello(host, "j2", 12, sessionId), [{ sessionId, appliedSeq: 7 }]);
  assert.equal(await journalOf(sessionId), "j1");
});

test("hosts that say hello together are each told of their own sessions", async () => {
  const one = await addSession({ appliedSeq: 7, journalId: "j1" });
  const two = await addSession({ appliedSeq: 4, journalId: "j2" });
  const none = await addSession({});
  const said = (host: ReportingHost, journalId: string, ...ids: string[]) => ({
    host,
    hello: { journalId, sessions: ids.map((sessionId) => ({ sessionId, lastSeq: 0 })) },
  });
  assert.deepEqual(
    await helloTogether([
      said(one.host, "j1", one.sessionId, two.sessionId),
      said(none.host, "j3"),
      said(two.host, "j4", two.sessionId),
    ]),
    [
      [{ sessionId: one.sessionId, appliedSeq: 7 }],
      [],
      [{ sessionId: two.sessionId, appliedSeq: 4 }],
    ],
  );
  assert.equal(await journalOf(one.sessionId), "j1");
  assert.equal(await journalOf(two.sessionId), "j4");
});

async function hello(
  host: ReportingHost,
  journalId: string,
  lastSeq: number,
  ...sessionIds: string[]
) {
  const sessions = sessionIds.map((sessionId) => ({ sessionId, lastSeq }));
  const [reply] = await helloTogether([{ host, hello: { journalId, sessions } }]);
  return reply;
}

function helloTogether(said: SaidHello[]) {
  return service.database.systemTransaction((tx) => answerHellos(tx, said));
}

async function journalOf(sessionId: string): Promise<string | null> {
  const [row] = await ownerSql<{ journal_id: string | null }>(
    service.url,
    `SELECT journal_id FROM sessions WHERE session_id = $1`,
    [parseId("session", sessionId)],
  );
  return row!.journal_id;
}

async function addSession(
  options: {
    host?: ReportingHost;
    appliedSeq?: number;
    journalId?: string;
    deleted?: boolean;
  } = {},
) {
  const { appliedSeq = 0, journalId = null, deleted = false } = options;
  const host = options.host ?? (await addHost());
  const [row] = await ownerSql<{ session_id: string }>(
    service.url,
    `INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by, applied_seq, journal_id, deleted_at)
     VALUES ($1, $2, 'codex', '{}', $3, $4, CASE WHEN $5 THEN now() END) RETURNING session_id`,
    [organizationId, host.instanceId, appliedSeq, journalId, deleted],
  );
  return { host, sessionId: formatId("session", row!.session_id) };
}

async function addHost(): Promise<ReportingHost> {
  const [row] = await ownerSql<{ instance_id: string }>(
    service.url,
    `INSERT INTO instances (organization_id, name) VALUES ($1, 'a host') RETURNING instance_id`,
    [organizationId],
  );
  return { organizationId, instanceId: row!.instance_id };
}
