import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { CommandFailed } from "../command-failed.ts";
import { explainFiles, openDataDirectory, refuseRoot } from "./data-directory.ts";
import { companyDatabase } from "./database.ts";
import { nodeSettings, partEnvironment } from "./environment.ts";
import { awaitLeftovers } from "./leftovers.ts";
import { holdData } from "./lock.ts";
import { limitLog } from "./log-size.ts";
import { openTail } from "./logs.ts";
import { applyOptions } from "./options.ts";
import { choosePorts, parseListen } from "./ports.ts";
import { databaseUrl, socketDirectory } from "./postgres.ts";
import { findRepositories } from "./repositories.ts";
import { identify, isRunning, writeRunState } from "./run-state.ts";
import { argumentsOf, unitText } from "./service.ts";

function place(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "hawser-up-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const failure = (code: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CommandFailed);
  assert.equal(error.exitCode, code);
  assert.match(error.message, message);
  return true;
};

test("one process holds the data, and a killed one releases it", async (t) => {
  const data = place(t);
  const holder = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { holdData } from ${JSON.stringify(import.meta.resolve("./lock.ts"))};
       await holdData(${JSON.stringify(data)}); console.log("held"); setInterval(() => {}, 1000);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await once(holder.stdout, "data");
  await assert.rejects(holdData(data), failure(1, /Another hawser command uses/));
  writeRunState(data, { ...identify(holder.pid!), since: "", isReady: true, parts: [] });
  writeFileSync(join(data, "settings.json"), '{"url":"http://127.0.0.1:7433"}');
  await assert.rejects(
    holdData(data),
    failure(1, /already runs at http:\/\/127\.0\.0\.1:7433, as process/),
  );
  holder.kill("SIGKILL");
  const lock = await holdData(data);
  lock.release();
});

test("a process is known by its number and its start", async (t) => {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  t.after(() => child.kill("SIGKILL"));
  await once(child, "spawn");
  const known = identify(child.pid!);
  assert.ok(isRunning(known));
  assert.ok(!isRunning({ ...known, startId: "another boot 1" }));
  const data = place(t);
  const part = { name: "node" as const, version: "1", since: "", restarts: 0, isReady: true };
  writeRunState(data, {
    ...identify(process.pid),
    since: "",
    isReady: true,
    parts: [{ ...part, ...known, startId: "another boot 1" }],
  });
  await awaitLeftovers(data, 0);
  assert.equal(child.signalCode, null, "a stranger with the same number is not signalled");
  writeRunState(data, {
    ...identify(process.pid),
    since: "",
    isReady: true,
    parts: [{ ...part, ...known }],
  });
  await awaitLeftovers(data, 50);
  assert.ok(!isRunning(known));
});

test("the service's port stays, and the ports between the parts are replaced if they are taken", async () => {
  const taker = createServer().listen(0, "127.0.0.1");
  await once(taker, "listening");
  const { port } = taker.address() as AddressInfo;
  const [http, websocket, monitor] = [await freePort(), await freePort(), await freePort()];
  const known = { http, nats: port, websocket, monitor };
  const chosen = await choosePorts({ known, asked: undefined, host: "127.0.0.1" });
  assert.equal(chosen.http, http);
  const anyPort = await choosePorts({ known, asked: 0, host: "127.0.0.1" });
  assert.equal(anyPort.http, http, "port 0 of a service is chosen once");
  assert.notEqual(chosen.nats, port);
  await assert.rejects(
    choosePorts({ known: { ...known, http: port }, asked: undefined, host: "127.0.0.1" }),
    failure(1, /is used by another program, and hosts know this service by that port/),
  );
  taker.close();
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

test("options are checked and remembered", () => {
  const options = { root: [], host: true };
  assert.deepEqual(parseListen("[::1]:80"), { host: "::1", port: 80 });
  assert.throws(() => parseListen("7433"), failure(2, /such as 127\.0\.0\.1:7433/));
  assert.throws(
    () => applyOptions({}, { ...options, listen: "0.0.0.0:80" }),
    failure(2, /--url https:/),
  );
  assert.throws(
    () => applyOptions({}, { ...options, url: "http://hawser.example" }),
    failure(2, /not safe/),
  );
  assert.throws(
    () => applyOptions({}, { ...options, postgresUrl: "x" }),
    failure(2, /--postgres-url/),
  );
  const company = {
    ...options,
    listen: "0.0.0.0:80",
    url: "https://hawser.example/",
    natsUrl: "nats://n:1",
  };
  assert.deepEqual(applyOptions({ key: "k" }, company), {
    key: "k",
    listenHost: "0.0.0.0",
    publicUrl: "https://hawser.example",
    nats: { url: "n:1", websocket: "n:4280" },
  });
});

test("an administrator's address gets logins with passwords, an owner's is used as it is", (t) => {
  const data = place(t);
  const admin = companyDatabase(
    data,
    "postgres://root:secret@db.internal:5433/postgres?sslmode=verify-full",
  );
  const [owner, node] = [admin.ownerUrl, admin.nodeUrl].map((url) => new URL(url));
  assert.equal(owner!.username, "hawser_owner");
  assert.equal(node!.pathname, "/hawser");
  assert.equal(node!.searchParams.get("sslmode"), "verify-full");
  assert.notEqual(owner!.password, node!.password);
  assert.equal(statSync(join(data, "node-password")).mode & 0o777, 0o600);
  assert.equal(
    admin.init?.adminUrl.startsWith("postgres://root:secret@db.internal:5433/postgres"),
    true,
  );
  const own = "postgres://me:pw@db.internal/hawser";
  assert.deepEqual(companyDatabase(data, own), { ownerUrl: own, nodeUrl: own, identity: own });
});

test("a data directory of another kind is refused", (t) => {
  const data = place(t);
  assert.throws(() => refuseRoot(0), failure(1, /as root.*useradd/));
  writeFileSync(join(data, "thesis.txt"), "");
  assert.throws(() => openDataDirectory(data), failure(1, /not Hawser's, such as thesis\.txt/));
  const full = explainFiles(Object.assign(new Error("x"), { code: "ENOSPC" }), data);
  assert.match((full as Error).message, /is full\. Make room/);
  const readOnly = explainFiles(Object.assign(new Error("x"), { code: "EROFS", path: "/p" }), data);
  assert.match((readOnly as Error).message, /^\/p cannot be written \(EROFS\)/);
  assert.throws(
    () => openDataDirectory(join(data, "thesis.txt/x")),
    failure(1, /is not a directory/),
  );
});

test("a socket's path fits, however long the data directory's is", () => {
  assert.equal(socketDirectory("/srv/ada/.hawser-server"), "/srv/ada/.hawser-server/run");
  const long = socketDirectory(`/srv/${"a".repeat(100)}`);
  assert.ok(Buffer.byteLength(long) < 90, long);
  assert.equal(databaseUrl("/d", "me", "hawser"), "postgres://me@%2Fd%2Frun/hawser");
});

test("the parts get the settings of the network, and no secret", () => {
  process.env["HTTPS_PROXY"] = "http://proxy.internal:3128";
  process.env["NODE_EXTRA_CA_CERTS"] = "/ca.pem";
  process.env["NODE_USE_SYSTEM_CA"] = "1";
  process.env["SOME_API_TOKEN"] = "secret";
  const environment = partEnvironment();
  assert.equal(environment["HTTPS_PROXY"], "http://proxy.internal:3128");
  assert.equal(environment["NODE_EXTRA_CA_CERTS"], "/ca.pem");
  assert.equal(environment["NODE_USE_SYSTEM_CA"], "1");
  assert.equal(environment["SOME_API_TOKEN"], undefined);
  const own = { HAWSER_LOG_LEVEL: "debug", HAWSER_KEY: "hwk_x", PATH: "/bin" };
  assert.deepEqual(nodeSettings(own), { HAWSER_LOG_LEVEL: "debug" });
});

test("a log stays small, and a reader follows it", (t) => {
  const file = join(place(t), "node.log");
  writeFileSync(file, "one\ntwo\nthree\nfo");
  const seen: string[] = [];
  const readMore = openTail(file, 2, (line) => seen.push(line));
  assert.deepEqual(seen, ["two", "three"]);
  appendFileSync(file, "ur\nfive\n");
  readMore();
  assert.deepEqual(seen.slice(2), ["four", "five"]);
  limitLog(file, 10);
  assert.equal(statSync(file).size, 0);
  assert.match(readFileSync(`${file}.1`, "utf8"), /^one\n/);
  appendFileSync(file, "six\n");
  readMore();
  assert.equal(seen.at(-1), "six");
});

test("on a full disk a log that has become too large is emptied, and the one before it stays", (t) => {
  const file = join(place(t), "node.log");
  writeFileSync(`${file}.1`, "earlier\n");
  writeFileSync(file, "one\ntwo\nthree\n");
  symlinkSync("/dev/full", `${file}.next`);
  limitLog(file, 10);
  assert.equal(statSync(file).size, 0);
  assert.equal(readFileSync(`${file}.1`, "utf8"), "earlier\n");
});

test("repositories are found nearest first, within bounds", (t) => {
  const home = place(t);
  for (const path of ["b", "a/deep", "node_modules/c", ".hidden/d", "b/inside"]) {
    mkdirSync(join(home, path, ".git"), { recursive: true });
  }
  assert.deepEqual(findRepositories(home), [join(home, "b"), join(home, "a/deep")]);
  const bounds = { repositories: 1, depth: 4, directories: 100, ms: 1_000 };
  assert.deepEqual(findRepositories(home, bounds), [join(home, "b")]);
  assert.deepEqual(
    findRepositories(home, { ...bounds, repositories: 9, directories: 2 }).length,
    0,
  );
});

test("the service's unit is one that systemd accepts", (t) => {
  const directory = place(t);
  const words = argumentsOf("/data dir", {
    root: ["/src/100%"],
    host: false,
    listen: "127.0.0.1:80",
  });
  assert.deepEqual(words, [
    "up",
    "--yes",
    "--data",
    "/data dir",
    "--listen",
    "127.0.0.1:80",
    "--root",
    "/src/100%",
    "--no-host",
  ]);
  const text = unitText(["/bin/sh", ...words]);
  assert.match(text, /^ExecStart="\/bin\/sh" "up" .*"\/src\/100%%"/m);
  assert.match(text, /^KillMode=process$/m);
  if (spawnSync("systemd-analyze", ["--version"]).status !== 0) return;
  const file = join(directory, "hawser.service");
  writeFileSync(file, text);
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--user", "--man=no", file], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: directory, XDG_RUNTIME_DIR: directory },
  });
  assert.deepEqual([status, stderr], [0, ""]);
});
