// The guarantees of the intake, on a real PostgreSQL.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import type { LogEntry, Report, ReportReply } from "@hawser/host-protocol";
import { holdRow, waitingStatements } from "@hawser/testkit/hold-row.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createLog } from "../log.ts";
import { openDatabase } from "../postgres/database.ts";
import { createIntake, type Intake } from "./intake.ts";
import type { ReportingHost } from "./apply-reports.ts";
import { lockSessions, moveApplied } from "./log-store.ts";

let service: ServiceDatabase;
let acme: string;
let globex: string;
let intake: Intake;
const notices: string[] = [];

before(async () => {
  service = await openServiceDatabase();
  const make = async (name: string) =>
    parseId(
      "organization",
      (await createTestOrganization(service.database, name, `${name}@x.example`)).organizationId,
    )!;
  acme = await make("acme");
  globex = await make("globex");
  intake = open();
});

after(async () => {
  await intake.close();
  await service[Symbol.asyncDispose]();
});

const open = (database = service.database) =>
  createIntake({
    database,
    onApplied: (sessionId, organizationId, seq) =>
      notices.push(`${organizationId} ${sessionId} ${seq}`),
    log: createLog("silent"),
  });

test("entries are stored in their order, and the answer says how far", async () => {
  const { host, sessionId } = await addSession();
  assert.deepEqual(await take(host, sessionId, [1, 2]), applied(sessionId, 2));
  assert.deepEqual(await take(host, sessionId, [3]), applied(sessionId, 3));
  const [first] = await ownerSql(
    service.url,
    `SELECT seq::int, organization_id, at, turn_id, update FROM session_log WHERE session_id = $1 AND seq = 1`,
    [parseId("session", sessionId)],
  );
  assert.deepEqual(first, {
    seq: 1,
    organization_id: acme,
    at: new Date("2026-11-15T10:00:01.250Z"),
    turn_id: null,
    update: { sessionUpdate: "agent_message_chunk", messageId: "1", text: `"quoted\\" {1} ü 🙂` },
  });
  assert.deepEqual(await stored(sessionId), { appliedSeq: 3, seqs: [1, 2, 3], journalId: "j1" });
});

test("after the commit, and only for what moved, the notice is given once per session", async () => {
  const { host, sessionId } = await addSession();
  const uuid = parseId("session", sessionId);
  await take(host, sessionId, [1, 2, 3]);
  await take(host, sessionId, [2, 3]);
  assert.deepEqual(
    notices.filter((notice) => notice.includes(uuid!)),
    [`${acme} ${uuid} 3`],
  );
});

test("a repeat is stored once and answered with what is applied", async () => {
  const { host, sessionId } = await addSession();
  await take(host, sessionId, [1, 2, 3]);
  assert.deepEqual(await take(host, sessionId, [1, 2]), applied(sessionId, 3));
  assert.deepEqual(await take(host, sessionId, [2, 3, 4]), applied(sessionId, 4));
  assert.deepEqual((await stored(sessionId)).seqs, [1, 2, 3, 4]);
});

test("behind a gap nothing is stored", async () => {
  const { host, sessionId } = await addSession();
  assert.deepEqual(await take(host, sessionId, [1, 2, 4, 5]), applied(sessionId, 2));
  assert.deepEqual(await take(host, sessionId, [5, 6]), applied(sessionId, 2));
  assert.deepEqual((await stored(sessionId)).seqs, [1, 2]);
});

test("reports of one session that meet in a group are put in order first", async () => {
  const { host, sessionId } = await addSession();
  const replies = await Promise.all([
    take(host, sessionId, [4, 5]),
    take(host, sessionId, [1, 2]),
    take(host, sessionId, [3, 2]),
  ]);
  assert.deepEqual(replies, Array(3).fill(applied(sessionId, 5)));
  assert.deepEqual((await stored(sessionId)).seqs, [1, 2, 3, 4, 5]);
});

test("what arrives while a group is written makes up the next one", async () => {
  const { host, sessionId } = await addSession();
  const uuid = parseId("session", sessionId);
  const held = await holdRow(
    service.url,
    `SELECT FROM sessions WHERE session_id = '${uuid}' FOR UPDATE`,
  );
  const first = take(host, sessionId, [1]);
  const deadline = Date.now() + 4_000;
  while ((await waitingStatements(service.url)) === 0) assert.ok(Date.now() < deadline);
  const rest = [2, 3, 4].map((seq) => take(host, sessionId, [seq]));
  await held[Symbol.asyncDispose]();
  assert.deepEqual(await first, applied(sessionId, 1));
  assert.deepEqual(await Promise.all(rest), Array(3).fill(applied(sessionId, 4)));
});

test("a session that is unknown, deleted or another host's is not named, and never written", async () => {
  const mine = await addSession();
  const neighbours = await addSession();
  const strangers = await addSession(globex);
  const deleted = await addSession();
  await ownerSql(service.url, `UPDATE sessions SET deleted_at = now() WHERE session_id = $1`, [
    parseId("session", deleted.sessionId),
  ]);
  const foreign = [neighbours.sessionId, strangers.sessionId];
  const unknown = [formatId("session", crypto.randomUUID()), "ses_x", "", "' OR 1=1 --"];
  const sessions = [...foreign, deleted.sessionId, mine.sessionId, ...unknown];
  const reply = await intake.accept(mine.host, reportOf(sessions.map((id) => [id, [1]])));
  assert.deepEqual(reply, applied(mine.sessionId, 1));
  // The neighbour's instance does not exist in the stranger's organization.
  const mixed = { organizationId: globex, instanceId: neighbours.host.instanceId };
  assert.deepEqual(await take(mixed, neighbours.sessionId, [1]), { applied: [] });
  assert.deepEqual(await take(deleted.host, deleted.sessionId, [1]), { applied: [] });
  assert.deepEqual(await intake.accept(mine.host, reportOf([["ses_x", [1]]])), { applied: [] });
  for (const id of [...foreign, deleted.sessionId])
    assert.deepEqual(await stored(id), { appliedSeq: 0, seqs: [], journalId: null });
});

test("two hosts that tell of one session in the same group are not put together", async () => {
  const owner = await addSession();
  const other = await addSession();
  const [ours, theirs] = await Promise.all([
    take(owner.host, owner.sessionId, [1, 3]),
    take(other.host, owner.sessionId, [2]),
  ]);
  assert.deepEqual(ours, applied(owner.sessionId, 1));
  assert.deepEqual(theirs, { applied: [] });
});

test("a report that cannot be stored fails alone, and later ones of its host again do well", async () => {
  const good = await Promise.all(Array.from({ length: 40 }, () => addSession()));
  const bad = await addSession();
  for (const [round, update] of [
    { sessionUpdate: "x", text: "a\u0000b" },
    { sessionUpdate: "x", text: "\ud800" },
    { sessionUpdate: "x", at: "0000-01-01T00:00:00Z" },
    { sessionUpdate: "x", text: "y".repeat(128 * 1024) },
  ].entries()) {
    const entry = { ...entryOf(1), update };
    if (update.at) entry.at = update.at;
    const report = {
      journalId: "j1",
      sessions: [{ sessionId: bad.sessionId, entries: [entry] }],
    };
    const [failing, ...others] = await Promise.all([
      intake.accept(bad.host, report),
      ...good.map(({ host, sessionId }) => take(host, sessionId, [round + 1])),
    ]);
    assert.deepEqual(failing, { failed: true });
    assert.deepEqual(
      others,
      good.map(({ sessionId }) => applied(sessionId, round + 1)),
    );
  }
  assert.deepEqual(await take(bad.host, bad.sessionId, [1, 2]), applied(bad.sessionId, 2));
});

test("a host that keeps sending what cannot be stored costs the others no second transaction", async () => {
  const transactions = { count: 0 };
  const counted = open({
    ...service.database,
    waitingAtMost(lockMs) {
      const database = service.database.waitingAtMost(lockMs);
      return {
        ...database,
        systemTransaction(work) {
          transactions.count += 1;
          return database.systemTransaction(work);
        },
      };
    },
  });
  // All in one lane, because the ids have the same end.
  const good = await Promise.all(Array.from({ length: 8 }, () => addSession(acme, "0")));
  const bad = await addSession(acme, "0");
  const update = { sessionUpdate: "x", text: "\u0000" };
  const poison: Report = {
    journalId: "j1",
    sessions: [{ sessionId: bad.sessionId, entries: [{ ...entryOf(1), update }] }],
  };
  const round = async (seq: number) => {
    transactions.count = 0;
    await Promise.all([
      counted.accept(bad.host, poison),
      ...good.map(({ host, sessionId }) => counted.accept(host, reportOf([[sessionId, [seq]]]))),
    ]);
    return transactions.count;
  };
  assert.ok((await round(1)) > 2);
  assert.equal(await round(2), 2);
  await counted.close();
});

test("another journal continues the log after a reset only, and the old journal is refused from then on", async () => {
  const { host, sessionId } = await addSession();
  await take(host, sessionId, [1, 2]);
  const from = (journalId: string, ...entries: LogEntry[]) =>
    intake.accept(host, { journalId, sessions: [{ sessionId, entries }] });
  // It has counted from zero, so "2 are applied" would make it drop its own entries.
  assert.deepEqual(await from("j2", entryOf(1), entryOf(2), entryOf(3)), { failed: true });
  const reset = { ...entryOf(3), update: { sessionUpdate: "journal_reset" } };
  assert.deepEqual(await from("j2", reset, entryOf(4)), applied(sessionId, 4));
  assert.deepEqual(await from("j1", entryOf(5)), { failed: true });
  assert.deepEqual(await from("j2", entryOf(5)), applied(sessionId, 5));
  assert.deepEqual(await stored(sessionId), {
    appliedSeq: 5,
    seqs: [1, 2, 3, 4, 5],
    journalId: "j2",
  });
});

test("without a database reports are answered failed, and the same reports are accepted once it is back", async () => {
  const nowhere = openDatabase({
    url: "postgres://postgres@127.0.0.1:1/none",
    connections: 1,
    patienceMs: 500,
    onIdleError: () => {},
  });
  const { host, sessionId } = await addSession();
  const cut = open(nowhere);
  assert.deepEqual(await cut.accept(host, reportOf([[sessionId, [1]]])), { failed: true });
  await cut.close();
  await nowhere[Symbol.asyncDispose]();
  assert.deepEqual(await take(host, sessionId, [1]), applied(sessionId, 1));
});

test("closing writes what waits, and takes nothing after", async () => {
  const { host, sessionId } = await addSession();
  const closing = open();
  const last = closing.accept(host, reportOf([[sessionId, [1]]]));
  await closing.close();
  assert.deepEqual(await last, applied(sessionId, 1));
  assert.deepEqual(await closing.accept(host, reportOf([[sessionId, [2]]])), { failed: true });
  await closing.close();
});

test("1,000 hosts that report one entry at a time are all applied, each entry once", async () => {
  const hosts = await addSessions(1_000);
  const perHost = 5;
  await Promise.all(
    hosts.map(async ({ host, sessionId }) => {
      for (let seq = 1; seq <= perHost; seq++)
        assert.deepEqual(await take(host, sessionId, [seq]), applied(sessionId, seq));
    }),
  );
  const uuids = hosts.map(({ sessionId }) => parseId("session", sessionId));
  const [row] = await ownerSql(
    service.url,
    `SELECT count(*)::int AS sessions, sum(entries)::int AS entries, bool_and(contiguous) AS contiguous
       FROM (SELECT s.session_id, count(*) AS entries,
                    count(*) = s.applied_seq AND min(l.seq) = 1 AND max(l.seq) = s.applied_seq AS contiguous
               FROM sessions s JOIN session_log l USING (session_id)
              WHERE s.session_id = ANY ($1) GROUP BY s.session_id, s.applied_seq) each`,
    [uuids],
  );
  assert.deepEqual(row, { sessions: 1_000, entries: 1_000 * perHost, contiguous: true });
});

test("nodes that take the same sessions in opposite order wait for each other and none fails", async () => {
  const { host, sessionId } = await addSession();
  const others = await ownerSql<{ session_id: string }>(
    service.url,
    `INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by)
     SELECT $1, $2, 'codex', '{}' FROM generate_series(1, 60) RETURNING session_id`,
    [acme, host.instanceId],
  );
  const ids = [sessionId, ...others.map((row) => formatId("session", row.session_id))];
  const second = open();
  for (let seq = 1; seq <= 20; seq++) {
    const forth = reportOf(ids.map((id) => [id, [seq]]));
    const back = { ...forth, sessions: forth.sessions.toReversed() };
    const replies = await Promise.all([intake.accept(host, forth), second.accept(host, back)]);
    for (const reply of replies) {
      assert.ok("applied" in reply);
      assert.equal(reply.applied.filter(({ appliedSeq }) => appliedSeq === seq).length, 61);
    }
  }
  await second.close();
});

test("F11: repeated, reordered and delayed reports, on two nodes, end where those in order do", async () => {
  const schedules = 300;
  const seed = Number(process.env["HAWSER_TEST_SEED"] ?? Date.now() % 1_000_000);
  const nodes = [intake, open()] as const;
  const hosts = await addSessions(schedules);
  await Promise.all(
    hosts.map(async ({ host, sessionId }, schedule) => {
      const random = randomFrom(seed + schedule);
      const last = 1 + Math.floor(random() * 12);
      // Overlapping parts of the log, some of them repeated, in any order.
      const underway = Array.from({ length: 3 + Math.floor(random() * 8) }, () => {
        const from = 1 + Math.floor(random() * last);
        return range(from, Math.min(last, from + Math.floor(random() * 4)));
      });
      const send = (seqs: number[]) =>
        nodes[random() < 0.5 ? 0 : 1].accept(host, reportOf([[sessionId, seqs]]));
      const late: Promise<ReportReply>[] = [];
      for (const seqs of underway) {
        const reply = send(seqs);
        if (random() < 0.6) late.push(reply);
        else await reply;
      }
      // A host repeats what was not confirmed; late reports still arrive in between.
      let confirmed = 0;
      for (let turn = 0; confirmed < last; turn++) {
        assert.ok(turn < 50, `seed ${seed}, schedule ${schedule}: stuck at ${confirmed}`);
        const reply = await send(range(confirmed + 1, last));
        assert.ok("applied" in reply && reply.applied.length === 1);
        confirmed = reply.applied[0]!.appliedSeq;
      }
      await Promise.all(late);
      assert.deepEqual(
        await stored(sessionId),
        { appliedSeq: last, seqs: range(1, last), journalId: "j1" },
        `seed ${seed}, schedule ${schedule}`,
      );
    }),
  );
  await nodes[1].close();
});

test("locking and moving sessions read the primary key, with and without statistics", async () => {
  const hosts = await addSessions(2_000);
  const some = hosts.slice(0, 100);
  const ids = some.map(({ sessionId }) => parseId("session", sessionId));
  const organizations = some.map(({ host }) => host.organizationId);
  const list = (values: unknown[]) => `'{${values.join(",")}}'`;
  const lock = `PREPARE work AS ${lockSessions.text};
    EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE work(${list(organizations)}, ${list(some.map(({ host }) => host.instanceId))}, ${list(ids)})`;
  const move = `PREPARE work AS ${moveApplied.text};
    EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE work(${list(organizations)}, ${list(ids)}, ${list(ids.map(() => 1))}, ${list(ids.map(() => "j1"))})`;
  const asSystem = `SET ROLE hawser_system; SET plan_cache_mode = force_generic_plan;`;
  const plan = async (text: string) => {
    const [row] = await ownerSql(service.url, `${asSystem} ${text}`);
    return JSON.stringify(row);
  };
  assert.match(await plan(lock), /"Index Name":"sessions_pkey"/);
  await ownerSql(service.url, `ANALYZE sessions`);
  for (const text of [lock, move]) {
    assert.match(await plan(text), /"Index Name":"sessions_pkey"/);
    assert.doesNotMatch(await plan(text), /Seq Scan/);
  }
});

interface OwnSession {
  host: ReportingHost;
  sessionId: string;
}

const addSession = async (organizationId = acme, idEnd?: string) =>
  (await addSessions(1, organizationId, idEnd))[0]!;

/** Each on its own host. */
async function addSessions(
  count: number,
  organizationId = acme,
  idEnd = "",
): Promise<OwnSession[]> {
  const rows = await ownerSql<{ instance_id: string; session_id: string }>(
    service.url,
    `WITH hosts AS (
       INSERT INTO instances (organization_id, instance_id, name)
       SELECT $1, (left(hawser_new_id()::text, 36 - length($3)) || $3)::uuid, 'a host'
         FROM generate_series(1, $2::int) RETURNING instance_id)
     INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by)
     SELECT $1, instance_id, 'codex', '{}' FROM hosts RETURNING instance_id, session_id`,
    [organizationId, count, idEnd],
  );
  return rows.map((row) => ({
    host: { organizationId, instanceId: row.instance_id },
    sessionId: formatId("session", row.session_id),
  }));
}

const entryOf = (seq: number): LogEntry => ({
  seq,
  at: `2026-11-15T10:00:${String(seq % 60).padStart(2, "0")}.250Z`,
  turnId: seq === 1 ? null : "turn_1",
  update: {
    sessionUpdate: "agent_message_chunk",
    messageId: String(seq),
    text: `"quoted\\" {${seq}} ü 🙂`,
  },
});

const reportOf = (sessions: [sessionId: string, seqs: number[]][]): Report => ({
  journalId: "j1",
  sessions: sessions.map(([sessionId, seqs]) => ({ sessionId, entries: seqs.map(entryOf) })),
});

const take = (host: ReportingHost, sessionId: string, seqs: number[]) =>
  intake.accept(host, reportOf([[sessionId, seqs]]));

const applied = (sessionId: string, appliedSeq: number) => ({
  applied: [{ sessionId, appliedSeq }],
});

async function stored(sessionId: string) {
  const [row] = await ownerSql(
    service.url,
    `SELECT applied_seq::int AS "appliedSeq", journal_id AS "journalId",
            ARRAY(SELECT seq::int FROM session_log l WHERE l.session_id = s.session_id ORDER BY seq) AS seqs
       FROM sessions s WHERE session_id = $1`,
    [parseId("session", sessionId)],
  );
  return row!;
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** Random numbers in [0, 1), the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
