// `hawser up`: one command on a machine that has never heard of Hawser, until a real agent has answered; and
// what happens when parts of it, or all of it, are killed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import type { Caller } from "@hawser/testkit/caller.ts";
import { isRoot } from "@hawser/testkit/clean-user.ts";
import { openTestBrowser } from "@hawser/testkit/signed-in-browser.ts";
import { until } from "@hawser/testkit/until.ts";
import {
  makeUpBed,
  partPids,
  untilStopped,
  type ReadyLine,
  type StartedUp,
  type UpBed,
} from "@hawser/testkit/up-bed.ts";
import { tell } from "../figures.ts";
import { scripted } from "../session-steps.ts";

let bed: UpBed;
let up: StartedUp;
let line: ReadyLine;
let caller: Caller;
let sessionId: string;

before(async () => {
  bed = await makeUpBed({ agents: true });
});
after(() => bed?.[Symbol.asyncDispose]());

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const isOnline = async () => {
  const { status, text } = await caller.try("get_instance", { instanceId: line.instanceId });
  return status === 200 && text.includes('"status":"online"');
};
/** The psql that belongs to the running PostgreSQL: the machine may have no other. */
function psql(): string {
  const server = bed.processes().find(({ program }) => basename(program) === "postgres");
  assert.ok(server, "PostgreSQL runs");
  return join(dirname(server.program), "psql");
}
async function startBusyQuery(): Promise<{ ended: Promise<unknown> }> {
  const address = (await bed.run(["db", "url"])).output.trim();
  const sql = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 100000) b";
  const query = bed.user.run(`${psql()} '${address}' --command '${sql}'`);
  const activity = `${psql()} '${address}' -Atc "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%series%'"`;
  await until("the query runs", async () => Number((await bed.user.run(activity)).output) === 2);
  return { ended: query };
}

const entries = async () => (await caller.list_session_events({ sessionId })).events;

test("One command starts the product, and the real opencode answers a prompt", async () => {
  up = bed.start();
  line = await up.ready;
  const readyMs = performance.now() - up.startedAt;
  caller = bed.callerFor(line);
  assert.equal((await caller.get_instance({ instanceId: line.instanceId })).status, "online");
  const { instanceId } = line;
  const session = await caller.start_session({ instanceId, directory: bed.repository });
  ({ sessionId } = session);
  await caller.send_prompt({ sessionId, text: scripted("Say hello.", { text: "Hello." }) });
  await until(
    "the turn is completed",
    async () => (await caller.wait_for_session({ sessionId })).turnOutcome === "completed",
    60_000,
  );
  const answeredMs = performance.now() - up.startedAt;
  assert.ok(answeredMs < 90_000, `${answeredMs} ms`);
  tell(
    `hawser up, first start: ready after ${seconds(readyMs)}, first answered prompt after ${seconds(answeredMs)}`,
  );
});

test("A second start on the same data is refused, and names the address", async () => {
  const second = await bed.run(["up"]);
  assert.equal(second.code, 1);
  assert.match(second.output, /already runs at http:\/\/127\.0\.0\.1:\d+/);
  assert.ok(second.output.includes(line.url));
});

test("The first owner signs in with a link that no log contains", async () => {
  const { code, output } = await bed.run(["sign-in-link"]);
  const link = /#(hwe_\w+)$/m.exec(output)?.[1];
  assert.ok(code === 0 && link, output);
  const browser = openTestBrowser(line.url);
  const opened = await browser.send("/api/sign-in/first", {
    link,
    password: "correct horse battery",
  });
  assert.equal(opened.status, 200, JSON.stringify(opened.body));
  const { body } = await browser.send("/api/sign-in");
  const [{ organizationId }] = body["organizations"] as [{ organizationId: string }];
  const me = (await browser.call(organizationId, "whoami")).body["result"] as { user: object };
  assert.deepEqual(me.user, (await caller.whoami({})).user);
  const found = await bed.user.run(`grep -rl hwe_ '${bed.data}/log'`);
  assert.equal(found.output, "");
  const again = await bed.run(["sign-in-link"]);
  assert.equal(again.code, 1);
  assert.match(again.output, /owner@localhost\.example has a password or a passkey/);
});

test("A part that is killed is started again, and nothing is lost", async () => {
  const former = await entries();
  assert.ok(former.length > 0);
  for (const name of ["postgres", "nats-server", "node", "host"]) {
    const pid = partPids(bed)[name]!;
    // A busy process of PostgreSQL outlives its killed server, which cannot start until that has ended.
    const query = name === "postgres" ? await startBusyQuery() : undefined;
    const startedAt = performance.now();
    process.kill(pid, "SIGKILL");
    await query?.ended;
    await until(`${name} runs again`, async () => {
      const { parts } = await bed.status();
      const part = parts.find((each) => each.name === name);
      return part!.pid !== pid && part!.running && part!.restarts === 1;
    });
    tell(`${name} killed: runs again after ${seconds(performance.now() - startedAt)}`);
    await until("the service answers and the host is online", isOnline, 30_000);
  }
  assert.deepEqual(await entries(), former);
});

test("A daemon that somebody else has told to stop is started again", async () => {
  const pid = partPids(bed)["host"]!;
  process.kill(pid, "SIGTERM");
  await until("the daemon runs again", async () => {
    const host = (await bed.status()).parts.find(({ name }) => name === "host")!;
    return host.pid !== pid && host.running;
  });
  await until("the host is online", isOnline, 30_000);
});

test("After a kill of hawser up itself, the next start has the same key, host and sessions", async () => {
  const former = await entries();
  // list_instances shows 1,000, by name.
  const address = (await bed.run(["db", "url"])).output.trim();
  const sql =
    "INSERT INTO instances (organization_id, name) SELECT organization_id, ' host ' || n FROM organizations, generate_series(1, 1000) n";
  const added = await bed.user.run(`${psql()} '${address}' --command "${sql}"`);
  assert.match(added.output, /INSERT 0 1000/);
  up.process.kill("SIGKILL");
  await up.ended;
  up = bed.start();
  assert.deepEqual(await up.ready, line);
  tell(
    `started again at once after a kill: ready after ${seconds(performance.now() - up.startedAt)}`,
  );
  assert.deepEqual(await entries(), former);
});

test("Down stops everything, and says which agents still run", async () => {
  const { agents } = (await bed.status()).host;
  const stopped = await bed.run(["down"]);
  assert.equal(stopped.code, 0, stopped.output);
  assert.match(stopped.output, /Hawser has stopped\./);
  if (agents > 0) assert.match(stopped.output, /still run/);
  assert.equal(await up.ended, 0);
  await untilStopped(bed);
  const status = await bed.run(["status"]);
  assert.equal(status.code, 1);
  assert.match(status.output, /does not run/);
});

test("A process that has got the number of a killed PostgreSQL is never signalled", async () => {
  const stranger = spawn("sleep", ["300"], { stdio: "ignore" });
  try {
    await once(stranger, "spawn");
    const file = join(bed.data, "postgres/postmaster.pid");
    writeFileSync(file, `${stranger.pid}\n${join(bed.data, "postgres")}\n1\n`);
    const startedAt = performance.now();
    up = bed.start(["--no-host"]);
    assert.equal((await up.ready).key, line.key);
    tell(
      `warm start without a host, with a stale pid file: ${seconds(performance.now() - startedAt)}`,
    );
    assert.equal(stranger.exitCode ?? stranger.signalCode, null);
  } finally {
    stranger.kill("SIGKILL");
  }
  up.process.kill("SIGINT");
  assert.equal(await up.ended, 0);
});

test("Taken ports of NATS are replaced; a taken port of the service is refused", async () => {
  const settings = JSON.parse(readFileSync(join(bed.data, "settings.json"), "utf8")) as {
    ports: { http: number; nats: number };
  };
  const taker = createServer().listen(settings.ports.nats, "127.0.0.1");
  await once(taker, "listening");
  up = bed.start(["--no-host"]);
  assert.equal((await up.ready).url, line.url);
  up.process.kill("SIGTERM");
  assert.equal(await up.ended, 0);
  taker.close();
  const thief = createServer().listen(settings.ports.http, "127.0.0.1");
  await once(thief, "listening");
  const refused = await bed.run(["up", "--yes"]);
  thief.close();
  assert.equal(refused.code, 1);
  assert.match(
    refused.output,
    /Port \d+ at 127\.0\.0\.1 is used by another program, and hosts know/,
  );
});

test("A start that cannot work says why, in one sentence", async () => {
  const other = join(bed.user.home, "documents");
  mkdirSync(other);
  writeFileSync(join(other, "letter.txt"), "Dear");
  const mine = await bed.run(["up", "--data", "/etc", "--yes"]);
  assert.match(mine.output, /belongs to another user|cannot be written|not Hawser's/);
  assert.equal(mine.code, 1);
  const unsafe = await bed.run(["up", "--url", "http://hawser.example"]);
  assert.match(unsafe.output, /not safe/);
  assert.equal(unsafe.code, 2);
  const open = await bed.run(["up", "--listen", "0.0.0.0:7433"]);
  assert.match(open.output, /needs the https:\/\/ address/);
  if (!isRoot) return;
  const foreign = await bed.run(["up", "--data", other]);
  assert.match(foreign.output, /belongs to another user/);
  const place = mkdtempSync(join(tmpdir(), "hawser-root-"));
  const program = join(bed.user.home, "../npm/node_modules/hawser/lib/server/hawser.mjs");
  const root = spawn(process.execPath, [program, "up", "--data", join(place, "data")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  root.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  assert.deepEqual(await once(root, "close"), [1, null]);
  assert.match(said, /does not run as root.*useradd/);
  rmSync(place, { recursive: true, force: true });
  using disk = bed.user.mountSmallDisk("small", 60);
  const full = await bed.run(["up", "--data", join(bed.user.home, "small"), "--yes"]);
  assert.match(full.output, /has only \d+ MB free, and a first start needs/);
  disk.resize(80);
});

test("After a first start that could not make this machine a host, the next one does", async () => {
  const data = join(bed.user.home, "again");
  const options = ["--data", data, "--listen", "127.0.0.1:0"];
  const missing = join(bed.user.home, "missing");
  const first = await bed.run(["up", ...options, "--yes", "--root", missing]);
  assert.match(first.output, /could not be made a host: .*missing does not exist/);
  assert.equal(first.code, 1);
  const next = bed.start(options);
  const { instanceId } = await next.ready;
  assert.match(instanceId, /^ins_/);
  next.process.kill("SIGTERM");
  assert.equal(await next.ended, 0);
});
