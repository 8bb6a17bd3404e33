// What the intake does when a statement takes too long: it may be one report's fault, or the database's.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { formatId, parseId } from "@hawser/contract";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createLog } from "../log.ts";
import { createIntake, type Intake } from "./intake.ts";

let service: ServiceDatabase;
let organizationId: string;
let intake: Intake;
let transactions = 0;

before(async () => {
  service = await openServiceDatabase({ patienceMs: 10_000 });
  const acme = await createTestOrganization(service.database, "acme", "owner@x.example");
  organizationId = parseId("organization", acme.organizationId)!;
  intake = createIntake({
    database: {
      waitingAtMost(lockMs) {
        const database = service.database.waitingAtMost(lockMs);
        return {
          ...database,
          systemTransaction(work) {
            transactions += 1;
            return database.systemTransaction(work);
          },
        };
      },
    },
    onApplied: () => {},
    log: createLog("silent"),
  });
});

after(async () => {
  await intake.close();
  await service[Symbol.asyncDispose]();
});

interface OwnSession {
  instanceId: string;
  sessionId: string;
}

/** Each on its own host, all of one lane: their ids have the same end. */
async function addSessions(count: number): Promise<OwnSession[]> {
  const rows = await ownerSql<{ instance_id: string; session_id: string }>(
    service.url,
    `WITH hosts AS (
       INSERT INTO instances (organization_id, instance_id, name)
       SELECT $1, (left(hawser_new_id()::text, 35) || '0')::uuid, 'a host'
         FROM generate_series(1, $2::int) RETURNING instance_id)
     INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by)
     SELECT $1, instance_id, 'codex', '{}' FROM hosts RETURNING instance_id, session_id`,
    [organizationId, count],
  );
  return rows.map((row) => ({ instanceId: row.instance_id, sessionId: row.session_id }));
}

function take({ instanceId, sessionId: id }: OwnSession, seq = 1) {
  const entry = {
    seq,
    at: "2026-11-15T10:00:00Z",
    turnId: null,
    update: { sessionUpdate: "plan" },
  };
  const sessions = [{ sessionId: formatId("session", id), entries: [entry] }];
  return intake.accept({ organizationId, instanceId }, { journalId: "j1", sessions });
}

const applied = ({ sessionId }: OwnSession, appliedSeq = 1) => ({
  applied: [{ sessionId: formatId("session", sessionId), appliedSeq }],
});

const failed = { failed: true };

test("a report that makes a statement take too long fails alone, and from then on apart", async () => {
  const [slow, late, ...others] = await addSessions(13);
  {
    await using _held = await holdRow(
      service.url,
      `SELECT FROM sessions WHERE session_id = '${slow!.sessionId}' FOR UPDATE`,
    );
    const replies = await Promise.all([slow!, ...others].map((each) => take(each)));
    assert.deepEqual(replies, [failed, ...others.map((each) => applied(each))]);
    const startedAt = performance.now();
    const next = take(slow!);
    await pause(50);
    assert.deepEqual(await take(late!), applied(late!));
    assert.ok(performance.now() - startedAt < 5_000, "it does not wait as long as a statement may");
    assert.deepEqual(await next, failed);
    transactions = 0;
    const again = await Promise.all([take(slow!), ...others.map((each) => take(each, 2))]);
    assert.deepEqual(again, [failed, ...others.map((each) => applied(each, 2))]);
    assert.equal(transactions, 2);
  }
  assert.deepEqual(await take(slow!), applied(slow!));
});

test("while the database is slow for everyone a group is not tried report by report", async () => {
  const all = await addSessions(16);
  {
    await using _held = await holdRow(service.url, `LOCK TABLE sessions IN EXCLUSIVE MODE`);
    transactions = 0;
    const replies = await Promise.all(all.map((each) => take(each)));
    assert.deepEqual(
      replies,
      all.map(() => failed),
    );
    assert.equal(transactions, 6, "once for each halving down to one report, and once more");
  }
  assert.deepEqual(
    await Promise.all(all.map((each) => take(each))),
    all.map((each) => applied(each)),
  );
});
