// The two barriers between tenants, and the guarantees of a transaction, on a real PostgreSQL.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseId } from "@hawser/contract";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import {
  DatabaseUnavailable,
  LockTimeout,
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
