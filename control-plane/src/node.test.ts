// A node as an operator runs it: a process with settings, health, logs, and a clean stop.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { createCaller } from "@hawser/testkit/caller.ts";
import {
  startControlPlaneNode,
  type ControlPlaneNode,
} from "@hawser/testkit/control-plane-node.ts";
import { createEmptyDatabase, type TestDatabase } from "@hawser/testkit/database.ts";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { nodeEnvironment } from "@hawser/testkit/node-environment.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { startPostgres } from "@hawser/testkit/postgres.ts";
import { freezeProcess } from "@hawser/testkit/processes.ts";

const main = mainFile("control-plane");
let folder: string;
let masterKeyFile: string;
let database: TestDatabase;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "hawser-node-"));
  masterKeyFile = join(folder, "master-key");
  writeFileSync(masterKeyFile, randomBytes(32).toString("hex"));
  database = await createEmptyDatabase();
});

after(async () => {
  await database[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function run(args: string[], environment: Record<string, string> = {}, program = main) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    encoding: "utf8",
    env: {
      ...nodeEnvironment(),
      HAWSER_DATABASE_URL: database.url,
      HAWSER_MASTER_KEY_FILE: masterKeyFile,
      ...environment,
    },
    timeout: 30_000,
  });
  return { status, stdout, stderr };
}

let firstKey: string;

test("a node does not start on a database that lacks a migration, or that is not there", () => {
  const unmigrated = run(["serve"]);
  assert.equal(unmigrated.status, 2);
  assert.match(
    unmigrated.stderr,
    /lacks 0001-ids-and-roles\.sql, .*\. Run "hawser-control-plane migrate"/,
  );
  const nowhere = run(["serve"], { HAWSER_DATABASE_URL: "postgres://postgres@127.0.0.1:1/none" });
  assert.equal(nowhere.status, 2);
  assert.match(nowhere.stderr, /PostgreSQL cannot be reached/);
});

test("a database that was made before the first release is refused, and left as it is", async () => {
  await using earlier = await createEmptyDatabase();
  await ownerSql(
    earlier.url,
    `CREATE TABLE hawser_migrations (name text PRIMARY KEY, sha256 text NOT NULL);
     INSERT INTO hawser_migrations VALUES ('0001-foundation.sql', 'any')`,
  );
  for (const command of ["migrate", "serve"]) {
    const { status, stderr } = run([command], { HAWSER_DATABASE_URL: earlier.url });
    assert.equal(status, 2, stderr);
    assert.match(
      stderr,
      /^This database was made by a version before the first release .* Create a new database/,
    );
  }
  assert.deepEqual(
    await ownerSql(earlier.url, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`),
    [{ tablename: "hawser_migrations" }],
  );
});

test("an install that lacks its migrations is not mistaken for a database that is out of reach", () => {
  // The modules are found through the checkout; the migrations are looked for beside the copy.
  const copy = join(folder, "incomplete");
  const workspace = join(copy, "control-plane");
  cpSync(import.meta.dirname, join(workspace, "src"), { recursive: true });
  cpSync(join(import.meta.dirname, "../package.json"), join(workspace, "package.json"));
  symlinkSync(join(import.meta.dirname, "../../node_modules"), join(copy, "node_modules"));
  const isIncomplete = (command: string) => {
    const { status, stderr } = run([command], {}, join(workspace, "src/main.ts"));
    assert.equal(status, 2, stderr);
    assert.match(stderr, /^This version is installed without its migrations: .*Install it again/);
    assert.ok(stderr.includes(join(workspace, "migrations")), stderr);
  };
  for (const command of ["migrate", "serve"]) isIncomplete(command);
  mkdirSync(join(workspace, "migrations"));
  for (const command of ["migrate", "serve"]) isIncomplete(command);
});

test("each refusal of a database is a sentence with a cure, without a stack", async () => {
  await using changed = await createEmptyDatabase();
  await using readOnly = await createEmptyDatabase();
  const nowhere = "postgres://postgres@127.0.0.1:1/none";
  const login = `visitor_${randomBytes(6).toString("hex")}`;
  await ownerSql(
    changed.url,
    `CREATE TABLE hawser_migrations (name text PRIMARY KEY, sha256 text NOT NULL);
     INSERT INTO hawser_migrations VALUES ('0001-ids-and-roles.sql', 'any');
     CREATE ROLE ${login} LOGIN`,
  );
  const { pathname: name } = new URL(readOnly.url);
  await ownerSql(
    readOnly.url,
    `ALTER DATABASE ${name.slice(1)} SET default_transaction_read_only = on`,
  );
  const visitor = new URL(changed.url);
  visitor.username = login;
  const bootstrap = ["bootstrap", "--organization", "Acme", "--email", "ada@acme.example"];
  const cases: [string[], string, RegExp][] = [
    [
      ["migrate"],
      changed.url,
      /^Migration 0001-ids-and-roles\.sql was changed .* Install this version/,
    ],
    [
      ["migrate"],
      readOnly.url,
      /^PostgreSQL is read-only\. Set HAWSER_DATABASE_URL to the primary/,
    ],
    [["migrate"], visitor.href, /^PostgreSQL does not allow .* login that owns the schema/],
    [["migrate"], nowhere, /^PostgreSQL cannot be reached: .* Check HAWSER_DATABASE_URL/],
    [bootstrap, nowhere, /^PostgreSQL cannot be reached: .* Check HAWSER_DATABASE_URL/],
  ];
  for (const [args, url, expected] of cases) {
    const { status, stderr } = run(args, { HAWSER_DATABASE_URL: url });
    assert.equal(status, 2, stderr);
    assert.match(stderr, expected);
    assert.doesNotMatch(stderr, /^\s+at /m);
  }
  await ownerSql(changed.url, `DROP ROLE ${login}`);
});

test("migrate, then bootstrap, which prints a key once and does nothing the second time", () => {
  const first = run(["migrate"]);
  assert.match(first.stderr, /^applying 0001-ids-and-roles\.sql\napplying 0002-/);
  assert.match(first.stdout, /^migrations applied: \d\d; the database is up to date\n$/);
  const second = run(["migrate"]);
  assert.match(second.stdout, /^migrations applied: 0; /);
  assert.equal(second.stderr, "");
  const made = run(["bootstrap", "--organization", "Acme", "--email", "ada@acme.example"]);
  assert.equal(made.status, 0, made.stderr);
  firstKey = /hwk_\w+/.exec(made.stdout)![0];
  assert.match(made.stdout, /^sign in +http:\/\/127\.0\.0\.1:\d+\/first#hwe_\w+$/m);
  const again = run(["bootstrap", "--organization", "Other", "--email", "bob@x.example"]);
  assert.equal(again.status, 2);
  assert.match(again.stderr, /set up already, for the organization "Acme"/);
});

test("a node does not start on a read-only server, and says so", async () => {
  const setting = `${new URL(database.url).pathname.slice(1)} SET default_transaction_read_only`;
  await ownerSql(database.url, `ALTER DATABASE ${setting} = on`);
  try {
    const { status, stderr } = run(["serve"]);
    assert.equal(status, 2, stderr);
    assert.match(stderr, /^PostgreSQL is read-only\. Set HAWSER_DATABASE_URL to the primary/);
    assert.doesNotMatch(stderr, /^\s+at /m);
  } finally {
    const allow = "SET TRANSACTION READ WRITE";
    await ownerSql(database.url, `${allow}; ALTER DATABASE ${setting} = off`);
  }
});

test("a wrong command or setting is answered with a sentence, without a stack", () => {
  const cases: [string[], Record<string, string>, RegExp][] = [
    [["fly"], {}, /There is no command "fly"/],
    [["serve", "now"], {}, /The command "serve" takes no "now"\. Run with --help/],
    [
      ["serve"],
      { HAWSER_DATABASE_URL: "nonsense" },
      /HAWSER_DATABASE_URL: must be an address such/,
    ],
    [["rotate"], {}, /name a key: master-key, command-key or nats-keys/],
    [["rotate", "command-key"], {}, /name one step: begin, switch or finish/],
    [
      ["serve"],
      { HAWSER_MASTER_KEY_FILE: "", HAWSER_MASTER_KEY_COMMAND: "exit 7" },
      /HAWSER_MASTER_KEY_COMMAND ended with 7/,
    ],
    [["serve"], { HAWSER_MASTER_KEY_FILE: join("no", "such", "file") }, /cannot be read/],
    [
      ["serve", "--fast"],
      {},
      /^Unknown option '--fast'\. Run with --help to see what there is\.$/m,
    ],
    [["bootstrap"], {}, /needs --organization and --email/],
    [["bootstrap", "--organization", "A", "--email", "ada"], {}, /"ada" is not an e-mail address/],
  ];
  for (const [args, environment, expected] of cases) {
    const { status, stderr } = run(args, environment);
    assert.equal(status, 2, stderr);
    assert.match(stderr, expected);
    assert.doesNotMatch(stderr, /^\s+at /m);
  }
});

test("a node started with another master key than the secrets were made with says so", async () => {
  const node = await startControlPlaneNode({ databaseUrl: database.url, masterKeyFile });
  await node[Symbol.asyncDispose]();
  const other = join(folder, "other-key");
  writeFileSync(other, randomBytes(32).toString("hex"));
  const { status, stderr } = run(["serve"], { HAWSER_MASTER_KEY_FILE: other });
  assert.equal(status, 2);
  assert.match(stderr, /cannot be decrypted with this master key/);
});

test("the first key works; health, readiness and metrics answer; metrics are not on the public port", async () => {
  await using node = await startControlPlaneNode({ databaseUrl: database.url, masterKeyFile });
  const caller = createCaller(node.baseUrl, firstKey);
  const me = await caller.whoami({});
  assert.equal(me.organization.name, "Acme");
  assert.equal(me.permissions.length, 8);
  assert.equal((await caller.request("/healthz")).status, 200);
  assert.equal((await caller.request("/readyz")).status, 200);
  assert.equal((await caller.request("/metrics")).status, 404);
  const metrics = await fetch(`${node.metricsUrl}/metrics`).then((response) => response.text());
  assert.match(metrics, /hawser_calls_total\{action="whoami",transport="rest",outcome="ok"\} 1/);
  assert.match(metrics, /hawser_pool_wait_seconds_count\{pool="sign-in"\} [1-9]/);
  assert.match(metrics, /hawser_partition_lead_seconds\{table="session_log"\} [1-9]/);
});

test("calls are logged with ids and without secrets, and a caller's own request id is kept", async () => {
  await using node = await startControlPlaneNode({
    databaseUrl: database.url,
    masterKeyFile,
    environment: { HAWSER_LOG_LEVEL: "debug" },
  });
  const caller = createCaller(node.baseUrl, firstKey);
  const { pairingToken } = await caller.create_instance({ name: "canary box" });
  await caller.try("whoami", {}, { "x-request-id": "trace-42" });
  await caller.try("get_instance", { instanceId: pairingToken });
  await stop(node);
  const calls = node.log.filter(({ msg }) => msg === "call");
  assert.deepEqual(
    calls.map(({ action, outcome }) => [action, outcome]),
    [
      ["create_instance", "ok"],
      ["whoami", "ok"],
      ["get_instance", "not_found"],
    ],
  );
  assert.equal(calls[1]!["callId"], "trace-42");
  const text = JSON.stringify(node.log);
  assert.ok(
    !text.includes(firstKey) && !text.includes(pairingToken) && !text.includes("canary box"),
  );
});

test("a stopping node finishes the call it has and takes no new one", async () => {
  const node = await startControlPlaneNode({ databaseUrl: database.url, masterKeyFile });
  const caller = createCaller(node.baseUrl, firstKey);
  const running = Array.from({ length: 50 }, (_, i) =>
    caller.create_instance({ name: `draining ${i}` }),
  );
  const all = Promise.allSettled(running);
  await Promise.race(running);
  await stop(node);
  const settled = await all;
  // Each call either finished or was never accepted: none was interrupted.
  for (const result of settled) {
    if (result.status === "rejected") assert.match(String(result.reason), /fetch failed/);
  }
  assert.equal(node.process.exitCode, 0);
  await using next = await startControlPlaneNode({ databaseUrl: database.url, masterKeyFile });
  const { instances } = await createCaller(next.baseUrl, firstKey).list_instances({});
  const made = instances.filter(({ name }) => name.startsWith("draining")).length;
  assert.equal(made, settled.filter(({ status }) => status === "fulfilled").length);
});

test("a stopping node serves on while /readyz answers 503, so that balancers turn away first", async () => {
  const node = await startControlPlaneNode({
    databaseUrl: database.url,
    masterKeyFile,
    environment: { HAWSER_DRAIN_SECONDS: "2" },
  });
  const caller = createCaller(node.baseUrl, firstKey);
  const started = performance.now();
  const stopped = stop(node);
  for (;;) {
    const reply = await caller.request("/readyz");
    if (reply.status === 503) {
      assert.equal(reply.text, "draining\n");
      break;
    }
    assert.ok(performance.now() - started < 1_500, "the node did not say that it is draining");
  }
  assert.equal((await caller.whoami({})).organization.name, "Acme");
  await stopped;
  assert.ok(performance.now() - started >= 2_000);
  assert.equal(node.process.exitCode, 0);
});

test("reads are counted per key and hour, also by a node that stops", async () => {
  await using node = await startControlPlaneNode({ databaseUrl: database.url, masterKeyFile });
  const caller = createCaller(node.baseUrl, firstKey);
  for (let i = 0; i < 7; i++) await caller.get_settings({});
  await stop(node);
  const { stdout } = await promisify(execFile)("psql", [
    database.url,
    "-Atc",
    "SELECT sum(calls) FROM audit_reads WHERE action = 'get_settings'",
  ]);
  assert.equal(stdout.trim(), "7");
});

test("while PostgreSQL is stalled or gone callers get 503 within 5 seconds, and it heals alone (F5)", async () => {
  await using cluster = await startPostgres();
  assert.equal(run(["migrate"], { HAWSER_DATABASE_URL: cluster.url }).status, 0);
  const made = run(["bootstrap", "--organization", "A", "--email", "a@x.example"], {
    HAWSER_DATABASE_URL: cluster.url,
  });
  const key = /hwk_\w+/.exec(made.stdout)![0];
  await using node = await startControlPlaneNode({ databaseUrl: cluster.url, masterKeyFile });
  const caller = createCaller(node.baseUrl, key);
  await caller.list_instances({});

  const backends = await postgresProcesses(cluster.pid);
  backends.forEach(freezeProcess);
  try {
    const started = performance.now();
    const reply = await caller.try("list_instances", {});
    assert.equal(reply.status, 503);
    assert.equal(reply.body.error.code, "unavailable");
    assert.ok(performance.now() - started < 5_000);
    assert.equal((await caller.request("/readyz")).status, 503);
  } finally {
    for (const pid of backends) process.kill(pid, "SIGCONT");
  }
  const deadline = Date.now() + 10_000;
  for (;;) {
    const reply = await caller.try("create_instance", { name: "after the stall" });
    if (reply.status === 200) break;
    assert.equal(reply.status, 503);
    assert.ok(Date.now() < deadline, "the node did not heal");
  }
});

test("an address at which the node cannot listen is named, with its setting and what to do", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const place = `127.0.0.1:${(taken.address() as { port: number }).port}`;
  const free = "127.0.0.1:0";
  const cases: [Record<string, string>, string][] = [
    [
      { HAWSER_LISTEN: place, HAWSER_METRICS_LISTEN: free },
      `HAWSER_LISTEN: another program listens at ${place}. Stop that program, or set HAWSER_LISTEN to another port.`,
    ],
    [
      { HAWSER_LISTEN: free, HAWSER_METRICS_LISTEN: place },
      `HAWSER_METRICS_LISTEN: another program listens at ${place}. Stop that program, or set HAWSER_METRICS_LISTEN to another port.`,
    ],
    [
      { HAWSER_LISTEN: free, HAWSER_METRICS_LISTEN: "192.0.2.1:9090" },
      "HAWSER_METRICS_LISTEN: 192.0.2.1:9090 is not an address of this machine. Set one that is, such as 127.0.0.1 with the same port.",
    ],
  ];
  for (const [environment, sentence] of cases) {
    const { status, stderr } = run(["serve"], environment);
    assert.equal(stderr, `${sentence}\n`);
    assert.equal(status, 2);
  }
  taken.close();
});

test("a node whose metrics are off serves callers, and no metrics", async () => {
  await using node = await startControlPlaneNode({
    databaseUrl: database.url,
    masterKeyFile,
    environment: { HAWSER_METRICS_LISTEN: "off" },
  });
  assert.equal((await createCaller(node.baseUrl, firstKey).request("/healthz")).status, 200);
  assert.deepEqual(await portsOf(node.pid), [Number(new URL(node.baseUrl).port)]);
});

async function stop(node: ControlPlaneNode): Promise<void> {
  await node[Symbol.asyncDispose]();
}

/** The TCP ports at which a process listens over IPv4. */
async function portsOf(pid: number): Promise<number[]> {
  const directory = `/proc/${pid}/fd`;
  const files = await Promise.all(
    (await readdir(directory)).map((file) => readlink(join(directory, file)).catch(() => "")),
  );
  const sockets = (await readFile(`/proc/${pid}/net/tcp`, "utf8")).split("\n").slice(1);
  return sockets
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === "0A" && files.includes(`socket:[${fields[9]}]`))
    .map((fields) => Number.parseInt(fields[1]!.split(":")[1]!, 16));
}

/** The cluster's own processes: the postmaster and its children. */
async function postgresProcesses(postmaster: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "pid=", "--ppid", String(postmaster)]);
  return [postmaster, ...stdout.split("\n").filter(Boolean).map(Number)];
}
