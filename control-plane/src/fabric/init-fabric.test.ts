// `init-fabric` as an operator runs it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "@hawser/testkit/free-port.ts";
import { startNatsServer } from "@hawser/testkit/nats.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createLog } from "../log.ts";
import { masterKeysOf } from "@hawser/testkit/master-keys.ts";
import { connectFabric } from "./connection.ts";
import { readFabricKeys } from "./fabric-keys.ts";
import { initFabric } from "./init-fabric.ts";

const log = createLog("silent");
const text = (data: Uint8Array) => Buffer.from(data).toString();

test("init-fabric makes a fabric once, and a nats-server starts from what it wrote", async (t) => {
  await using service = await openServiceDatabase();
  const folder = mkdtempSync(join(tmpdir(), "hawser-init-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const masterKey = randomBytes(32);
  const masterKeyFile = join(folder, "master-key");
  writeFileSync(masterKeyFile, masterKey.toString("hex"));
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const init = (...args: string[]) =>
    spawnSync(process.execPath, [main, "init-fabric", ...args], {
      encoding: "utf8",
      env: { HAWSER_DATABASE_URL: service.url, HAWSER_MASTER_KEY_FILE: masterKeyFile },
      timeout: 30_000,
    });
  const place = async () => `127.0.0.1:${await freePort()}`;
  const [listen, websocket, monitor] = [await place(), await place(), await place()];
  const directory = join(folder, "fabric");

  assert.match(init().stderr, /init-fabric needs --directory/);
  assert.match(
    init("--directory", directory, "--listen", "here").stderr,
    /--listen must be host:port/,
  );
  const addresses = ["--listen", listen, "--websocket", websocket, "--monitor", monitor];
  const made = init("--directory", directory, ...addresses);
  assert.equal(made.status, 0, made.stderr);
  const configFile = join(directory, "nats-server.conf");
  const seedFile = join(directory, "operator.seed");
  for (const file of [configFile, seedFile]) assert.equal(statSync(file).mode & 0o777, 0o600);
  const config = readFileSync(configFile, "utf8");
  assert.doesNotMatch(config + made.stdout, /\bS[OAU][A-Z2-7]{56}\b/);
  assert.match(readFileSync(seedFile, "utf8"), /^SO[A-Z2-7]{56}\n$/);

  const again = init("--directory", join(folder, "again"), ...addresses);
  assert.equal(again.status, 2);
  assert.match(again.stderr, /has a fabric already/);
  assert.throws(() => statSync(join(folder, "again")));

  const kept = await readFabricKeys(service.database.system, masterKeysOf(masterKey));
  const storeDirectory = join(directory, "accounts");
  await using _server = await startNatsServer({
    configFile,
    listen,
    websocket,
    monitor,
    storeDirectory,
  });
  const node = await connectFabric({ keys: kept!, urls: [listen], name: "node.first", log });
  const [answer] = await node.system.requestMany("$SYS.REQ.SERVER.PING", "", { timeoutMs: 2_000 });
  assert.match(text(answer!), /"name":"n1"/);
  await node.close();
});

test("init-fabric leaves nothing behind when it cannot write", async (t) => {
  await using service = await openServiceDatabase();
  const folder = mkdtempSync(join(tmpdir(), "hawser-init-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const masterKeys = masterKeysOf(randomBytes(32));
  const { system } = service.database;
  writeFileSync(join(folder, "nats-server.conf"), "the operator's own");
  await assert.rejects(initFabric(system, masterKeys, { directory: folder }), /is there already/);
  assert.throws(() => statSync(join(folder, "operator.seed")));
  assert.equal(await readFabricKeys(system, masterKeys), undefined);
  // If several run at once, one creates the fabric and the others leave no file.
  const many = Array.from({ length: 4 }, (_, i) => join(folder, `${i}`));
  const results = await Promise.allSettled(
    many.map((directory) => initFabric(system, masterKeys, { directory })),
  );
  assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
  for (const [i, { status }] of results.entries()) {
    const isThere = statSync(join(many[i]!, "operator.seed"), { throwIfNoEntry: false });
    assert.equal(Boolean(isThere), status === "fulfilled");
  }
});
