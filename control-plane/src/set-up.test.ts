// Setting a service up as a program does it: each step by its command, with its result read from JSON.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createCaller } from "@hawser/testkit/caller.ts";
import { startControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { startNatsServer } from "@hawser/testkit/nats.ts";
import { nodeEnvironment } from "@hawser/testkit/node-environment.ts";
import { startPostgres, type PostgresCluster } from "@hawser/testkit/postgres.ts";

const main = mainFile("control-plane");
let cluster: PostgresCluster;
let folder: string;

before(async () => {
  cluster = await startPostgres();
  folder = mkdtempSync(join(tmpdir(), "hawser-set-up-"));
  writeFileSync(join(folder, "master-key"), randomBytes(32).toString("hex"));
});

after(async () => {
  await cluster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test("a program sets a service up twice, reads the results, and starts it", async () => {
  const [listen, websocket, monitor] = [await place(), await place(), await place()];
  const directory = join(folder, "fabric");
  const keyFile = join(folder, "key");
  const setUp = async () => {
    const database = await run({}, "init-database", "--admin-url", cluster.url);
    const { ownerUrl, nodeUrl } = database as { ownerUrl: string; nodeUrl: string };
    const migrated = await run({ HAWSER_DATABASE_URL: ownerUrl }, "migrate");
    const node = { HAWSER_DATABASE_URL: nodeUrl };
    const fabric = await run(node, "init-fabric", "--directory", directory, "--listen", listen);
    const addresses = ["--listen", listen, "--websocket", websocket, "--monitor", monitor];
    const nats = await run(node, "nats-config", "--directory", directory, ...addresses);
    const owner = ["--organization", "Acme", "--email", "ada@acme.example"];
    const organization = await run(node, "bootstrap", ...owner, "--key-file", keyFile);
    return { database, migrated, fabric, nats, organization };
  };
  const first = await setUp();
  const key = readFileSync(keyFile, "utf8").trim();
  const urlOf = (login: string) => `postgres://${login}@127.0.0.1:${cluster.port}/hawser`;
  const urls = { ownerUrl: urlOf("hawser_owner"), nodeUrl: urlOf("hawser_node") };
  const roles = ["hawser_owner", "hawser_node", "hawser_app", "hawser_system", "hawser_sign_in"];
  assert.deepEqual(first.database, { created: [...roles, "hawser"], ...urls });
  const { applied } = first.migrated as { applied: string[] };
  assert.equal(applied[0], "0001-ids-and-roles.sql");
  const files = {
    configFile: join(directory, "nats-server.conf"),
    keysFile: join(directory, "nats-keys.conf"),
  };
  const seedFile = join(directory, "operator.seed");
  assert.deepEqual(first.fabric, { created: true, ...files, seedFile });
  assert.deepEqual(first.nats, files);
  const { organizationId, userId, ...rest } = first.organization as Record<string, string>;
  assert.match(organizationId!, /^org_/);
  assert.match(userId!, /^usr_/);
  assert.deepEqual(rest, { created: true, keyFile });

  assert.deepEqual(await setUp(), {
    database: { created: [], ...urls },
    migrated: { applied: [] },
    fabric: { created: false, ...files, seedFile },
    nats: files,
    organization: { created: false, organizationId, userId, keyFile },
  });
  assert.equal(readFileSync(keyFile, "utf8").trim(), key);

  await using _server = await startNatsServer({
    configFile: files.configFile,
    listen,
    websocket,
    monitor,
    storeDirectory: join(directory, "accounts"),
  });
  await using node = await startControlPlaneNode({
    databaseUrl: urls.nodeUrl,
    masterKeyFile: join(folder, "master-key"),
    environment: { HAWSER_NATS_URLS: listen, HAWSER_NATS_WEBSOCKETS: websocket },
  });
  const me = await createCaller(node.baseUrl, key).whoami({});
  assert.equal(me.organization.name, "Acme");
});

test("a command that fails prints a sentence, and no JSON", async () => {
  const cases: [string[], RegExp][] = [
    [["init-database"], /^init-database needs --admin-url, or HAWSER_ADMIN_URL\.$/m],
    [["init-database", "--admin-url", "here"], /^--admin-url must be an address such as postgres:/],
    [["init-database", "--admin-url", "postgres:///x"], /^--admin-url must be an address such as/],
    [
      ["init-database", "--admin-url", cluster.url, "--node-password-file", main],
      /^--node-password-file: .* must contain one password/,
    ],
    [["nats-config"], /^nats-config needs --directory\.$/m],
    [["serve"], /^The command "serve" takes no --json\.$/m],
  ];
  for (const [args, expected] of cases) {
    const { status, stdout, stderr } = await runCommand({}, args);
    assert.deepEqual([status, stdout], [2, ""], stderr);
    assert.match(stderr, expected);
  }
});

/** The parsed result of a command that succeeds. */
async function run(environment: Record<string, string>, ...args: string[]): Promise<unknown> {
  const { status, stdout, stderr } = await runCommand(environment, args);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^.+\n$/);
  return JSON.parse(stdout);
}

function runCommand(environment: Record<string, string>, args: string[]) {
  const masterKeyFile = join(folder, "master-key");
  const env = { ...nodeEnvironment(), HAWSER_MASTER_KEY_FILE: masterKeyFile, ...environment };
  const command = [main, ...args, "--json"];
  return new Promise<{ status: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, command, { env, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ status: error ? error.code : 0, stdout, stderr }),
    );
  });
}

const place = async () => `127.0.0.1:${await freePort()}`;
