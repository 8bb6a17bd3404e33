// `hawser up` on a PostgreSQL and a NATS that others look after, and restart: it starts neither, outlives the restart
// of both, and finds them again at its next start.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Caller } from "@hawser/testkit/caller.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { startNatsServer, type NatsServer } from "@hawser/testkit/nats.ts";
import {
  initCluster,
  makeDirectory,
  startServer,
  type PostgresServer,
} from "@hawser/testkit/postgres.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { until } from "@hawser/testkit/until.ts";
import {
  makeUpBed,
  partPids,
  type ReadyLine,
  type StartedUp,
  type UpBed,
} from "@hawser/testkit/up-bed.ts";

let bed: UpBed;
let cluster: string;
let postgres: PostgresServer;
let fabric: string;
let nats: NatsServer;
let up: StartedUp;
let line: ReadyLine;
let caller: Caller;

before(async () => {
  bed = await makeUpBed();
  cluster = makeDirectory();
  await initCluster(cluster);
  postgres = await startServer(cluster, await freePort());
  fabric = mkdtempSync(join(tmpdir(), "hawser-company-nats-"));
});
after(async () => {
  await bed?.[Symbol.asyncDispose]();
  await nats?.[Symbol.asyncDispose]();
  await postgres?.stop();
  for (const directory of [cluster, fabric]) if (directory) removeDirectory(directory);
});

/** Whether a question reaches the host and comes back. */
const isReached = async () => {
  const { instanceId } = line;
  const { status, text } = await caller.try("list_directories", { instanceId });
  return status === 200 && text.includes('"live":true');
};

/** As its operator does: with the files that `hawser up` has written, at addresses of the operator. */
async function startCompanyNats(listen: string, websocket: string): Promise<NatsServer> {
  const written = join(bed.data, "fabric");
  await until(
    "the files of NATS are written",
    () => existsSync(join(written, "nats-server.conf")),
    60_000,
  );
  const monitor = `127.0.0.1:${await freePort()}`;
  const storeDirectory = join(fabric, "store");
  mkdirSync(storeDirectory);
  const text = readFileSync(join(written, "nats-server.conf"), "utf8")
    .replace(/^http: .*$/m, `http: "${monitor}"`)
    .replaceAll(/^(\s*dir:) .*$/gm, `$1 "${storeDirectory}"`);
  const configFile = join(fabric, "nats-server.conf");
  writeFileSync(configFile, text);
  writeFileSync(
    join(fabric, "nats-keys.conf"),
    readFileSync(join(written, "nats-keys.conf"), "utf8"),
  );
  return startNatsServer({ configFile, listen, websocket, monitor, storeDirectory });
}

test("The first start waits for a NATS with the keys of this service", async () => {
  const listen = `127.0.0.1:${await freePort()}`;
  const websocket = `127.0.0.1:${await freePort()}`;
  const engines = ["--postgres-url", postgres.url, "--nats-url", `nats://${listen}`];
  up = bed.start([...engines, "--nats-websocket", websocket]);
  nats = await startCompanyNats(listen, websocket);
  line = await up.ready;
  caller = bed.callerFor(line);
  assert.deepEqual(Object.keys(partPids(bed)).sort(), ["host", "node"]);
  await until("the host is reached", isReached, 30_000);
});

test("A restart of PostgreSQL is a pause: the same host, without a restart of any part", async () => {
  const before = partPids(bed);
  await postgres.stop();
  const refused = await caller.try("list_instances");
  assert.ok(refused.status === 503, `${refused.status} ${refused.text}`);
  postgres = await startServer(cluster, postgres.port);
  await until("the host is reached", isReached, 30_000);
  assert.deepEqual(partPids(bed), before);
});

test("So is a restart of NATS, which has lost its disk", async () => {
  const before = partPids(bed);
  await nats.restart({ wipe: true });
  await until("the host is reached", isReached, 60_000);
  assert.deepEqual(partPids(bed), before);
});

test("The next start needs no addresses, and one without the engines says which is away", async () => {
  up.process.kill("SIGINT");
  await up.ended;
  up = bed.start();
  assert.deepEqual(await up.ready, line);
  await until("the host is reached", isReached, 30_000);
  up.process.kill("SIGINT");
  await up.ended;
  await postgres.stop();
  const failed = await bed.run(["up"]);
  assert.equal(failed.code, 1);
  assert.match(failed.output, /PostgreSQL cannot be reached: connect ECONNREFUSED/);
});
