// `init-fabric` and `nats-config` as an operator runs them, also if they are killed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { freePort } from "@hawser/testkit/free-port.ts";
import { killInCommit } from "@hawser/testkit/kill-in-commit.ts";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { masterKeysOf } from "@hawser/testkit/master-keys.ts";
import { startNatsServer } from "@hawser/testkit/nats.ts";
import { nodeEnvironment } from "@hawser/testkit/node-environment.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createLog } from "../log.ts";
import { connectFabric } from "./connection.ts";
import { isOperatorOf, readFabricKeys } from "./fabric-keys.ts";
import { initFabric, writeNatsConfig } from "./init-fabric.ts";

const log = createLog("silent");
const text = (data: Uint8Array) => Buffer.from(data).toString();
const files = ["nats-keys.conf", "nats-server.conf", "operator.seed"];

test("init-fabric makes the keys, a nats-server starts from what it wrote, and nats-config moves it", async (t) => {
  await using service = await openService(t);
  const { directory, run } = service;
  assert.match(run("init-fabric").stderr, /init-fabric needs --directory/);
  assert.match(
    run("init-fabric", "--directory", directory, "--listen", "here").stderr,
    /--listen must be host:port/,
  );
  assert.match(run("nats-config", "--directory", directory).stderr, /Run init-fabric first/);
  assert.equal(existsSync(directory), false);

  const first = await freePlace();
  const made = run("init-fabric", "--directory", directory, ...optionsOf(first));
  assert.equal(made.status, 0, made.stderr);
  assert.deepEqual(readdirSync(directory).sort(), files);
  for (const file of files) assert.equal(statSync(join(directory, file)).mode & 0o777, 0o600);
  const config = service.read("nats-server.conf") + service.read("nats-keys.conf");
  assert.doesNotMatch(config + made.stdout, /\bS[OAU][A-Z2-7]{56}\b/);
  assert.match(service.read("operator.seed"), /^SO[A-Z2-7]{56}\n$/);
  await service.serves(first);

  const second = await freePlace();
  const moved = run("nats-config", "--directory", directory, ...optionsOf(second));
  assert.equal(moved.status, 0, moved.stderr);
  assert.deepEqual(readdirSync(directory).sort(), ["accounts", ...files]);
  assert.ok(!service.read("nats-server.conf").includes(first.listen));
  await service.serves(second);
});

for (const outcome of ["rolled back", "committed"] as const) {
  test(`an init-fabric that is killed in its commit, which is ${outcome}, is finished by the next one`, async (t) => {
    await using service = await openService(t);
    const { directory, database, masterKeys } = service;
    await killInCommit({
      databaseUrl: service.url,
      table: "secrets",
      args: ["init-fabric", "--directory", directory],
      environment: { HAWSER_MASTER_KEY_FILE: service.masterKeyFile },
      outcome,
    });
    assert.deepEqual(readdirSync(directory), ["operator.seed.next"]);
    const prepared = service.read("operator.seed.next");

    const place = await freePlace();
    const { created } = await initFabric(database, masterKeys, { directory, ...place });
    assert.equal(created, outcome === "rolled back");
    assert.deepEqual(readdirSync(directory).sort(), files);
    assert.equal(service.read("operator.seed") === prepared, outcome === "committed");
    assert.ok(isOperatorOf(await service.keys(), service.read("operator.seed").trim()));
    await service.serves(place);
  });
}

test("init-fabric writes every file that is missing, and changes none that is there", async (t) => {
  await using service = await openService(t);
  const { directory, database, masterKeys } = service;
  await initFabric(database, masterKeys, { directory: `${directory}-first` });
  const keys = await service.keys();
  const run = () => initFabric(database, masterKeys, { directory });
  const made = await run();
  assert.equal(made.created, false);
  assert.equal(made.seedFile, null);
  const complete = service.contents();
  assert.deepEqual(Object.keys(complete), ["nats-keys.conf", "nats-server.conf"]);
  for (const file of Object.keys(complete)) {
    rmSync(join(directory, file));
    await run();
    assert.deepEqual(service.contents(), complete, file);
  }
  // Changes by hand, such as those for a cluster.
  const cluster = `${complete["nats-server.conf"]}\n# cluster`;
  writeFileSync(join(directory, "nats-server.conf"), cluster);
  await run();
  assert.equal(service.read("nats-server.conf"), cluster);
  assert.deepEqual(await service.keys(), keys);
  writeFileSync(join(directory, "nats-keys.conf"), "of another service");
  await assert.rejects(run(), /nats-keys\.conf does not contain the keys of this service/);
  await writeNatsConfig(database, masterKeys, { directory });
  assert.deepEqual(service.contents(), complete);
});

test("init-fabric publishes the seed of its own operator only", async (t) => {
  await using service = await openService(t);
  const { directory, database, masterKeys } = service;
  const run = () => initFabric(database, masterKeys, { directory });
  await run();
  const [seed, prepared] = [
    join(directory, "operator.seed"),
    join(directory, "operator.seed.next"),
  ];
  renameSync(seed, prepared);
  assert.equal((await run()).seedFile, seed);
  // The operator has moved the seed offline, and a run that was killed before has left another.
  const offline = service.read("operator.seed");
  rmSync(seed);
  for (const other of ["SO", "", offline.replace(/.{8}\n$/, "AAAAAAAA\n")]) {
    writeFileSync(prepared, other);
    assert.equal((await run()).seedFile, null, other);
  }
});

test("init-fabric makes no keys if a file of another origin is in the way", async (t) => {
  await using service = await openService(t);
  const { directory, database, masterKeys } = service;
  for (const file of files) {
    const folder = mkdtempSync(`${directory}-`);
    writeFileSync(join(folder, file), "the operator's own");
    await assert.rejects(
      initFabric(database, masterKeys, { directory: folder }),
      /is there already\. Move it/,
    );
    assert.deepEqual(readdirSync(folder), [file]);
    assert.equal(await readFabricKeys(database.system, masterKeys), undefined);
  }
});

test("if several run at once, one makes the keys, and all of them write its files", async (t) => {
  await using service = await openService(t);
  const { directory, database, masterKeys } = service;
  const same = Array.from({ length: 3 }, () => initFabric(database, masterKeys, { directory }));
  const other = initFabric(database, masterKeys, { directory: `${directory}-other` });
  const results = await Promise.all([...same, other]);
  assert.equal(results.filter(({ created }) => created).length, 1);
  const seeds = [directory, `${directory}-other`].filter((each) =>
    existsSync(join(each, "operator.seed")),
  );
  assert.equal(seeds.length, 1);
  const seed = readFileSync(join(seeds[0]!, "operator.seed"), "utf8").trim();
  assert.ok(isOperatorOf(await service.keys(), seed));
  for (const each of [directory, `${directory}-other`]) {
    assert.ok(
      readFileSync(join(each, "nats-keys.conf"), "utf8").includes(
        (await service.keys()).operatorJwt,
      ),
    );
    assert.equal(existsSync(join(each, "operator.seed.next")), false);
  }
});

interface Place {
  listen: string;
  websocket: string;
  monitor: string;
}

async function freePlace(): Promise<Place> {
  const place = async () => `127.0.0.1:${await freePort()}`;
  return { listen: await place(), websocket: await place(), monitor: await place() };
}

const optionsOf = (place: Place) =>
  Object.entries(place).flatMap(([name, address]) => [`--${name}`, address as string]);

async function openService(t: TestContext) {
  const service = await openServiceDatabase({ patienceMs: 60_000 });
  const folder = mkdtempSync(join(tmpdir(), "hawser-init-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const masterKey = randomBytes(32);
  const masterKeyFile = join(folder, "master-key");
  writeFileSync(masterKeyFile, masterKey.toString("hex"));
  const main = mainFile("control-plane");
  const directory = join(folder, "fabric");
  const masterKeys = masterKeysOf(masterKey);
  const read = (file: string) => readFileSync(join(directory, file), "utf8");
  const keys = async () => (await readFabricKeys(service.database.system, masterKeys))!;
  return {
    ...service,
    directory,
    masterKeys,
    masterKeyFile,
    read,
    keys,
    contents: () =>
      Object.fromEntries(
        readdirSync(directory)
          .sort()
          .map((file) => [file, read(file)]),
      ),
    run: (...args: string[]) =>
      spawnSync(process.execPath, [main, ...args], {
        encoding: "utf8",
        env: {
          ...nodeEnvironment(),
          HAWSER_DATABASE_URL: service.url,
          HAWSER_MASTER_KEY_FILE: masterKeyFile,
        },
        timeout: 60_000,
      }),
    /** Starts a nats-server from the files, at this place, and connects to it as a node does. */
    async serves(place: Place): Promise<void> {
      await using _server = await startNatsServer({
        configFile: join(directory, "nats-server.conf"),
        storeDirectory: join(directory, "accounts"),
        ...place,
      });
      const urls = [place.listen];
      const node = await connectFabric({ keys: await keys(), urls, name: "node.first", log });
      const [answer] = await node.system.requestMany("$SYS.REQ.SERVER.PING", "", {
        timeoutMs: 2_000,
      });
      assert.match(text(answer!), /"name":"n1"/);
      await node.close();
    },
  };
}
