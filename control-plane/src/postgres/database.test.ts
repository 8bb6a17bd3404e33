// The two barriers between tenants, and the guarantees of a transaction, on a real PostgreSQL.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseId } from "@hawser/contract";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { startPostgres } from "@hawser/testkit/postgres.ts";
import { until } from "@hawser/testkit/until.ts";
import pg from "pg";
import {
  DatabaseUnavailable,
  LockTimeout,
  ReadOnlyDatabase,
  StatementTimeout,
  openDatabase,
  type Database,
} from "./database.ts";
import { query, statement, systemStatement } from "./statement.ts";

let service: ServiceDatabase;
let database: Database;
let acme: string;
let globex: string;

before(async () => {
  service = await openServiceDatabase({ patienceMs: 1_000 });
  ({ database } = service);
  const make = async (name: string) =>
    parseId(
      "organization",
      (await createTestOrganization(database, name, `${name}@x.example`)).organizationId,
    )!;
  acme = await make("acme");
  globex = await make("globex");
});

after(async () => {
  await service[Symbol.asyncDispose]();
});

const allInstances = statement<{ name: string }>(`SELECT name FROM instances ORDER BY name`);
const addInstance = statement<{ instance_id: string }>(
  `INSERT INTO instances (organization_id, name) VALUES ($1, $2) RETURNING instance_id`,
);

test("a statement that forgets the organization still sees only the tenant's rows", async () => {
  await database.tenantTransaction(acme, (sql) => sql.rows(addInstance, acme, "acme box"));
  await database.tenantTransaction(globex, (sql) => sql.rows(addInstance, globex, "globex box"));
  assert.deepEqual(await database.tenant(acme).rows(allInstances), [{ name: "acme box" }]);
  assert.deepEqual(await database.tenant(globex).rows(allInstances), [{ name: "globex box" }]);
});

test("the role that serves callers sees nothing at all unless it says for whom", async () => {
  const asApp = new URL(service.url);
  asApp.searchParams.set("options", "-c role=hawser_app");
  for (const table of ["organizations", "instances", "api_keys", "sessions", "audit_entries"]) {
    assert.deepEqual(await ownerSql(asApp.href, `SELECT * FROM ${table}`), [], table);
  }
});

test("writing into another organization is refused by the database itself", async () => {
  await assert.rejects(
    database.tenantTransaction(acme, (sql) => sql.rows(addInstance, globex, "smuggled")),
    /row-level security/,
  );
});

test("the audit trail can be neither changed nor removed by the role that serves callers", async () => {
  for (const text of [`UPDATE audit_entries SET outcome = 'x'`, `DELETE FROM audit_entries`]) {
    await assert.rejects(database.tenant(acme).rows(statement(text)), /permission denied/);
  }
});

test("neither role can read the other's business: callers no secrets, the system no more than it needs", async () => {
  await assert.rejects(
    database.tenant(acme).rows(statement(`SELECT * FROM secrets`)),
    /permission denied/,
  );
  await assert.rejects(
    database.tenant(acme).rows(statement(`SELECT * FROM users`)),
    /permission denied/,
  );
  const remove = systemStatement(`test: remove organizations`, `DELETE FROM organizations`);
  await assert.rejects(database.system.rows(remove), /permission denied/);
});

test("every tenant table has row-level security", async () => {
  const bare = await ownerSql(
    service.url,
    `SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id'
      WHERE c.relkind IN ('r', 'p') AND NOT c.relrowsecurity AND c.relnamespace = 'public'::regnamespace`,
  );
  assert.deepEqual(bare, []);
});

test("no column has an enum type: under row-level security they cannot use an index", async () => {
  assert.deepEqual(
    await ownerSql(service.url, `SELECT typname FROM pg_type WHERE typtype = 'e'`),
    [],
  );
});

test("several statements in one round trip give each its rows, also when one gives none", async () => {
  const one = statement<{ n: number }>(`SELECT 1 AS n`);
  const none = statement<{ n: number }>(`SELECT 1 AS n WHERE false`);
  const results = await database.tenant(acme).together(query(one), query(none), query(one));
  assert.deepEqual(results, [[{ n: 1 }], [], [{ n: 1 }]]);
});

test("values of every kind arrive as they were sent", async () => {
  const echo = statement<Record<string, unknown>>(
    `SELECT $1::text AS text, $2::int AS number, $3::boolean AS flag, $4::jsonb AS object, $5::text[] AS list,
            $6::bytea AS bytes, $7::text AS nothing, 9007199254740991::bigint AS count,
            '2026-11-15 10:20:30.5+02'::timestamptz AS at, '2026-11-15 10:20:30Z'::timestamptz AS whole`,
  );
  const list = ["a", 'with "quotes"', "back\\slash", "comma,", "{brace}", ""];
  const row = await database
    .tenant(acme)
    .first(echo, "tëxt 🙂", 5, true, { a: [1] }, list, Buffer.from([0, 255]), undefined);
  assert.deepEqual(row, {
    text: "tëxt 🙂",
    number: 5,
    flag: true,
    object: { a: [1] },
    list,
    bytes: Buffer.from([0, 255]),
    nothing: null,
    count: 9007199254740991,
    at: "2026-11-15T08:20:30.500Z",
    whole: "2026-11-15T10:20:30.000Z",
  });
});

test("a failed batch leaves its connection fit for the next, prepared statements and all", async () => {
  const alone = openDatabase({
    url: service.url,
    connections: 1,
    patienceMs: 1_000,
    onIdleError: () => {},
  });
  const fine = statement<{ n: number }>(`SELECT 2 AS n`);
  const broken = statement<{ n: number }>(`SELECT 1 / $1::int AS n`);
  const never = statement<{ n: number }>(`SELECT 3 AS n`);
  await assert.rejects(
    alone.tenant(acme).together(query(fine), query(broken, 0), query(never)),
    /division by zero/,
  );
  assert.deepEqual(await alone.tenant(acme).together(query(fine), query(broken, 1), query(never)), [
    [{ n: 2 }],
    [{ n: 1 }],
    [{ n: 3 }],
  ]);
  await alone[Symbol.asyncDispose]();
});

test("what fails undoes the whole transaction, and nothing runs after a commit that never came", async () => {
  let ran = false;
  const attempt = database.tenantTransaction(acme, async (sql) => {
    sql.afterCommit(() => (ran = true));
    await sql.rows(addInstance, acme, "undone");
    throw new Error("on purpose");
  });
  await assert.rejects(attempt, /on purpose/);
  assert.equal(ran, false);
  const names = await database.tenant(acme).rows(allInstances);
  assert.ok(!names.some(({ name }) => name === "undone"));
});

test("a savepoint undoes its own part and keeps the rest", async () => {
  const events: string[] = [];
  await database.tenantTransaction(acme, async (sql) => {
    sql.afterCommit(() => events.push("kept"));
    await sql.rows(addInstance, acme, "kept");
    await sql
      .savepoint(async () => {
        sql.afterCommit(() => events.push("undone"));
        await sql.rows(addInstance, acme, "undone");
        await sql.rows(statement(`SELECT 1 / 0`));
      })
      .catch(() => {});
    sql.later(addInstance, acme, "kept later");
  });
  const names = (await database.tenant(acme).rows(allInstances)).map(({ name }) => name);
  assert.ok(names.includes("kept") && names.includes("kept later") && !names.includes("undone"));
  assert.deepEqual(events, ["kept"]);
});

test("a statement that takes too long, or waits too long for a lock, is unavailable and not a fault", async () => {
  await assert.rejects(
    database.tenant(acme).rows(statement(`SELECT pg_sleep(3)`)),
    StatementTimeout,
  );
  const lock = statement(`SELECT FROM instances WHERE name = 'acme box' FOR UPDATE`);
  await database.tenantTransaction(acme, async (holder) => {
    await holder.rows(lock);
    const waiting = database.tenantTransaction(acme, async (sql) => {
      await sql.rows(statement(`SET LOCAL lock_timeout = '100ms'`));
      await sql.rows(lock);
    });
    await assert.rejects(waiting, LockTimeout);
  });
});

const readPid = systemStatement<{ pid: number }>(
  "test: read the process of a connection",
  `SELECT pg_backend_pid() AS pid`,
);

test("a write that a read-only server refuses is unavailable, and no connection is used again", async () => {
  const { system } = database.connectionsFor("sign-in");
  const before = await system.first(readPid);
  const write = database.tenantTransaction(acme, async (sql) => {
    await sql.rows(statement(`SET TRANSACTION READ ONLY`));
    await sql.rows(addInstance, acme, "not written");
  });
  await assert.rejects(write, ReadOnlyDatabase);
  assert.notDeepEqual(await system.first(readPid), before);
});

test("blocked work of one kind does not delay work of another", async () => {
  const sleep = systemStatement("test: sleep", `SELECT pg_sleep(0.8)`);
  const blocked = Array.from({ length: 12 }, () =>
    database
      .connectionsFor("intake")
      .system.rows(sleep)
      .catch(() => {}),
  );
  const startedAt = performance.now();
  await database.connectionsFor("sign-in").system.first(readPid);
  await database.connectionsFor("presence").system.first(readPid);
  await database.connectionsFor("deliveries").system.first(readPid);
  await database.system.first(readPid);
  assert.ok(performance.now() - startedAt < 400);
  await Promise.all(blocked);
});

test("idle work keeps a connection, so that a server without free ones does not stop it", async () => {
  const cluster = await startPostgres({ settings: { max_connections: "20" } });
  await using full = await openServiceDatabase({ cluster, patienceMs: 2_000 });
  const presence = full.database.connectionsFor("presence").system;
  await Promise.all([presence.first(readPid), presence.first(readPid)]);
  const others = `SELECT FROM pg_stat_activity WHERE application_name = 'hawser hawser_system'`;
  const areIdleOnesClosed = async () => (await ownerSql(full.url, others)).length < 2;
  await until("the others are closed", areIdleOnesClosed, 20_000);
  const held: pg.Client[] = [];
  try {
    for (;;) {
      const client = new pg.Client({ connectionString: full.url });
      await client.connect();
      held.push(client);
    }
  } catch (error) {
    assert.equal((error as { code?: string }).code, "53300", "the server has no free connection");
  }
  assert.ok(await presence.first(readPid));
  await Promise.all(held.map((client) => client.end()));
});

test("a limit for locks is valid for its own statements only", async () => {
  const lock = systemStatement(
    "test: lock an instance",
    `SELECT FROM instances WHERE name = 'acme box' FOR UPDATE`,
  );
  const intake = database.connectionsFor("intake");
  const limited = intake.waitingAtMost(100);
  await database.tenantTransaction(acme, async (holder) => {
    await holder.rows(statement(`SELECT FROM instances WHERE name = 'acme box' FOR UPDATE`));
    const startedAt = performance.now();
    await assert.rejects(limited.system.rows(lock), LockTimeout);
    await assert.rejects(
      limited.systemTransaction((tx) => tx.rows(lock)),
      LockTimeout,
    );
    assert.ok(performance.now() - startedAt < 800);
    await assert.rejects(intake.system.rows(lock), StatementTimeout);
  });
});

test("a database that is not there is unavailable", async () => {
  const nowhere = openDatabase({
    url: "postgres://postgres@127.0.0.1:1/none",
    connections: 1,
    patienceMs: 500,
    onIdleError: () => {},
  });
  await assert.rejects(nowhere.tenant(acme).rows(allInstances), DatabaseUnavailable);
  await nowhere[Symbol.asyncDispose]();
});

test("ids sort by when the database made them", async () => {
  const [row] = await ownerSql<{ ordered: boolean; version: string }>(
    service.url,
    `SELECT array_agg(id ORDER BY n) = array_agg(id ORDER BY id) AS ordered, min(substring(id::text, 15, 1)) AS version
       FROM (SELECT n, hawser_new_id() AS id, pg_sleep(0.0001) FROM generate_series(1, 500) n) made`,
  );
  assert.deepEqual(row, { ordered: true, version: "7" });
});

test("ids are UUIDs that contain the shard of their database, those of users included", async () => {
  const made = (count: number) =>
    ownerSql<{ id: string; shard: number }>(
      service.url,
      `SELECT id,
              (('x' || substring(replace(id::text, '-', '') FROM 17 FOR 3))::bit(12)::int & 1023) AS shard
         FROM (SELECT hawser_new_id() AS id FROM generate_series(1, $1::int)
               UNION ALL SELECT hawser_user_for_email(n || '@shard.example') FROM generate_series(1, $1::int) n) made`,
      [count],
    );
  const setShard = (shard: number) =>
    ownerSql(
      service.url,
      `CREATE OR REPLACE FUNCTION hawser_shard() RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN ${shard}`,
    );
  const valid = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const seen = new Set<string>();
  for (const shard of [0, 1, 42, 1023]) {
    await setShard(shard);
    await ownerSql(service.url, `DELETE FROM users WHERE email LIKE '%@shard.example'`);
    for (const { id, shard: found } of await made(100)) {
      assert.match(id, valid);
      assert.equal(found, shard, id);
      seen.add(id);
    }
  }
  await setShard(0);
  assert.equal(seen.size, 800);
});

test("no index contains a column of sessions that every report changes, and one what a turn changes", async () => {
  // The start and the end of a turn touch all indexes (decision 0086). Other reports touch none.
  const ofTurns = ["turn_id", "turn_outcome", "queued_turns", "running_shells"];
  const changing = [
    "activity",
    "applied_seq",
    "journal_id",
    "last_activity_at",
    "turn_started_at",
    "outcome_seq",
    "usage",
    "cost_usd",
  ];
  const indexed = await ownerSql<{ index: string; column: string }>(
    service.url,
    `SELECT d.objid::regclass::text AS index, a.attname AS column
       FROM pg_index i
       JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                       AND d.refobjid = i.indrelid AND d.refobjsubid > 0
       JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
      WHERE i.indrelid = 'sessions'::regclass`,
  );
  assert.ok(indexed.some(({ column }) => column === "status"));
  assert.deepEqual(
    indexed.filter(({ column }) => changing.includes(column)),
    [],
  );
  assert.deepEqual(
    indexed.filter(({ column }) => ofTurns.includes(column)).map(({ index }) => index),
    ofTurns.map(() => "sessions_at_work"),
  );
});
