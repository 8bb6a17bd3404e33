import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createLog } from "../log.ts";
import type { ReportingHost } from "./apply-reports.ts";
import { answerHellos, failLost, type ReceivedHello } from "./hello.ts";
import { createIntake } from "./intake.ts";

let service: ServiceDatabase;
let organizationId: string;

before(async () => {
  service = await openServiceDatabase();
  const made = await createTestOrganization(service.database, "acme", "owner@x.example");
  organizationId = parseId("organization", made.organizationId)!;
});

after(() => service[Symbol.asyncDispose]());

test("a host receives how far each of its own sessions is applied, and nothing about others", async () => {
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

test("a new journal becomes the log's, and late reports of the old journal are refused", async () => {
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
  const intake = createIntake({ database, onApplied: () => {}, log: createLog("silent") });
  assert.deepEqual(await intake.accept(host, report("j1", "plan")), { failed: true });
  assert.deepEqual(await intake.accept(host, report("j2", "journal_reset")), {
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

test("hosts that say hello together each receive their own sessions", async () => {
  const one = await addSession({ appliedSeq: 7, journalId: "j1" });
  const two = await addSession({ appliedSeq: 4, journalId: "j2" });
  const none = await addSession({});
  const said = (host: ReportingHost, journalId: string, ...ids: string[]) => ({
    host,
    formerJournalId: null,
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

test("what a lost journal knew and the new one does not name is in error, and waits for nothing", async () => {
  const { host, sessionId } = await addSession({ appliedSeq: 7, journalId: "j1" });
  const detached = await addSession({ host, appliedSeq: 2, journalId: "j1", status: "detached" });
  const ended = await addSession({ host, appliedSeq: 3, journalId: "j1", status: "ended" });
  const named = await addSession({ host, appliedSeq: 4, journalId: "j1" });
  const own = await addSession({ host, appliedSeq: 5, journalId: "j2" });
  const starting = await addSession({ host });
  const others = await addSession({ appliedSeq: 6, journalId: "j1" });
  for (const status of ["pending", "undeliverable", "answered"])
    await addRequest(sessionId, host, status);
  await addRequest(named.sessionId, host, "pending");

  assert.deepEqual(await hello(host, "j2", 0, named.sessionId), [
    { sessionId: named.sessionId, appliedSeq: 4 },
  ]);
  const lost = { status: "error", activity: "idle", queued_turns: [] };
  const { status_reason: reason, ...rest } = await sessionRow(sessionId);
  assert.deepEqual(rest, lost);
  assert.equal(reason, "journal_lost");
  assert.equal((await sessionRow(detached.sessionId)).status_reason, reason);
  const untouched = { status: "active", activity: "running", queued_turns: ["t2"] };
  for (const each of [named, own, starting, others])
    assert.deepEqual(await sessionRow(each.sessionId), { ...untouched, status_reason: null });
  assert.equal((await sessionRow(ended.sessionId)).status, "ended");
  assert.deepEqual(await requestsOf(sessionId), ["answered", "withdrawn", "withdrawn"]);
  assert.deepEqual(await requestsOf(named.sessionId), ["pending"]);
});

test("a hello with the journal that is known says nothing of sessions it does not name", async () => {
  const { host, sessionId } = await addSession({ appliedSeq: 7, journalId: "j1" });
  await helloTogether([
    { host, hello: { journalId: "j1", sessions: [] }, formerJournalId: "j1" },
    { host, hello: { journalId: "j1", sessions: [] }, formerJournalId: null },
  ]);
  assert.equal((await sessionRow(sessionId)).status, "active");
});

test("a late report of a lost journal changes nothing, and the journal goes on if it comes back", async () => {
  const { host, sessionId } = await addSession({ appliedSeq: 7, journalId: "j1" });
  await hello(host, "j2", 0);
  const { database } = service;
  const intake = createIntake({ database, onApplied: () => {}, log: createLog("silent") });
  const report = {
    journalId: "j1",
    sessions: [
      {
        sessionId,
        entries: [
          {
            seq: 8,
            at: "2026-11-15T10:00:00Z",
            turnId: "t3",
            update: { sessionUpdate: "turn_started", messageId: "m", model: null, agent: null },
          },
        ],
      },
    ],
  };
  assert.deepEqual(await intake.accept(host, report), { failed: true });
  assert.equal((await sessionRow(sessionId)).status, "error");

  await hello(host, "j3", 0);
  assert.deepEqual(await hello(host, "j1", 8, sessionId), [{ sessionId, appliedSeq: 7 }]);
  assert.deepEqual(await intake.accept(host, report), { applied: [{ sessionId, appliedSeq: 8 }] });
  const { status, activity } = await sessionRow(sessionId);
  assert.deepEqual([status, activity], ["active", "running"]);
  await intake.close();
});

async function hello(
  host: ReportingHost,
  journalId: string,
  lastSeq: number,
  ...sessionIds: string[]
) {
  const sessions = sessionIds.map((sessionId) => ({ sessionId, lastSeq }));
  const said = { host, hello: { journalId, sessions }, formerJournalId: null };
  const [reply] = await helloTogether([said]);
  return reply;
}

function helloTogether(said: ReceivedHello[]) {
  return service.database.systemTransaction(async (tx) => {
    const { replies, lost } = await answerHellos(tx, said);
    await failLost(tx, lost);
    return replies;
  });
}

async function sessionRow(sessionId: string) {
  const [row] = await ownerSql<{
    status: string;
    status_reason: string | null;
    activity: string;
    queued_turns: string[];
  }>(
    service.url,
    `SELECT status, status_reason, activity, queued_turns FROM sessions WHERE session_id = $1`,
    [parseId("session", sessionId)],
  );
  return row!;
}

async function requestsOf(sessionId: string): Promise<string[]> {
  const rows = await ownerSql<{ status: string }>(
    service.url,
    `SELECT status FROM requests WHERE session_id = $1 ORDER BY status`,
    [parseId("session", sessionId)],
  );
  return rows.map(({ status }) => status);
}

async function addRequest(sessionId: string, host: ReportingHost, status: string): Promise<void> {
  await ownerSql(
    service.url,
    `INSERT INTO requests (organization_id, request_id, session_id, instance_id, type, shown,
                           shown_hash, status, raised_at)
     VALUES ($1, gen_random_uuid(), $2, $3, 'permission', '{}', 'h', $4, now())`,
    [organizationId, parseId("session", sessionId), host.instanceId, status],
  );
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
    status?: string;
  } = {},
) {
  const { appliedSeq = 0, journalId = null, deleted = false, status = "active" } = options;
  const host = options.host ?? (await addHost());
  const [row] = await ownerSql<{ session_id: string }>(
    service.url,
    `INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by, applied_seq, journal_id, deleted_at,
                           status, activity, queued_turns)
     VALUES ($1, $2, 'codex', '{}', $3, $4, CASE WHEN $5 THEN now() END, $6, 'running', '{t2}')
     RETURNING session_id`,
    [organizationId, host.instanceId, appliedSeq, journalId, deleted, status],
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
