// The launcher of the package, in the Node of this repository and in an older one of the machine.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { isRoot } from "@hawser/testkit/clean-user.ts";
import { startPackageServer, type PackageServer } from "@hawser/testkit/package-server.ts";
import { packagedProduct } from "@hawser/testkit/packaged-product.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { until } from "@hawser/testkit/until.ts";

/** Prints what the tests look at, and on request waits for a signal. */
const shownProgram = `
const [, , command, ...rest] = process.argv;
if (command === "exit") process.exitCode = Number(rest[0]);
if (command === "wait") {
  process.on("SIGTERM", () => process.exit(7));
  setInterval(() => {}, 1000);
}
console.log(JSON.stringify({ node: process.versions.node, pid: process.pid, rest }));
`;
const old = oldNode();
const place = mkdtempSync(join(tmpdir(), "hawser-launcher-"));
const packageDirectory = join(place, "hawser");
const data = join(place, "data");
let server: PackageServer;

before(async () => {
  const product = await packagedProduct();
  cpSync(product.directory, packageDirectory, { recursive: true });
  writeFileSync(join(packageDirectory, "lib/server/hawser.mjs"), shownProgram);
  server = await startPackageServer();
  product.serve(server);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(place, { recursive: true, force: true });
});

/** A Node below 24 on this machine; a sentence if it has none. */
function oldNode(): { program: string } | string {
  for (const program of ["/usr/bin/node", "/usr/local/bin/node"]) {
    const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8" });
    if (/^v(?:18|20|22)\./.test(stdout ?? "")) return { program };
  }
  return "This machine has no Node below 24.";
}

function nodeEngine(): { version: string } {
  const list = readFileSync(join(packageDirectory, "engines/engines.json"), "utf8");
  const { engines } = JSON.parse(list) as { engines: { name: string; version: string }[] };
  return engines.find(({ name }) => name === "node")!;
}

const launcher = () => join(packageDirectory, "bin/hawser.cjs");
const environment = () => ({
  PATH: process.env["PATH"]!,
  HOME: place,
  npm_config_registry: server.url,
});

async function run(node: string, ...args: string[]) {
  const child = spawn(node, [launcher(), ...args, "--data", data], { env: environment() });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const limit = setTimeout(() => void stopProcess(child), 60_000);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(limit);
  return { code, stdout, stderr };
}

test("in a Node that fits, the command goes on in it without asking a registry", async () => {
  const asked = server.asked.length;
  const ran = await run(process.execPath, "exit", "3");
  assert.deepEqual([ran.code, ran.stderr], [3, ""]);
  assert.equal((JSON.parse(ran.stdout) as { node: string }).node, process.versions.node);
  assert.equal(server.asked.length, asked);
  assert.ok(!existsSync(data), "a command that needs no data directory makes none");
});

test("a program in the data directory of another user is not run", { skip: !isRoot }, async () => {
  const theirs = join(place, "theirs");
  const { version } = nodeEngine();
  const program = join(theirs, `engines/node-${version}/node`);
  mkdirSync(dirname(program), { recursive: true });
  writeFileSync(program, "#!/bin/sh\necho ran\n", { mode: 0o755 });
  chownSync(theirs, 65_534, 65_534);
  for (const node of [process.execPath, ...(typeof old === "string" ? [] : [old.program])]) {
    const ran = await run(node, "exit", "0", "--data", theirs);
    assert.deepEqual([ran.code, ran.stdout], [2, ""]);
    assert.match(ran.stderr, /belongs to another user/);
  }
});

test("in an old Node without a way to the newer one, a sentence says so", async (t) => {
  if (typeof old === "string") return t.skip(old);
  server.fail("gone");
  const ran = await run(old.program, "exit", "0");
  assert.deepEqual([ran.code, ran.stdout], [2, ""]);
  assert.match(ran.stderr, /^Node 24\.\d+\.\d+ is not on this machine and cannot be downloaded\./);
  server.fail();
});

test("in an old Node, the command goes on in the downloaded one, then without the network", async (t) => {
  if (typeof old === "string") return t.skip(old);
  const first = await run(old.program, "exit", "4", "a b", "");
  const { node, rest } = JSON.parse(first.stdout) as { node: string; rest: string[] };
  assert.deepEqual([first.code, rest], [4, ["4", "a b", "", "--data", data]]);
  assert.match(node, /^24\./);
  server.fail("gone");
  const second = await run(old.program, "exit", "5");
  assert.deepEqual([second.code, second.stderr], [5, ""]);
  server.fail();
});

test("the child of an old Node gets the launcher's signals, and ends when the launcher is killed", async (t) => {
  if (typeof old === "string") return t.skip(old);
  const start = async () => {
    const child = spawn(old.program, [launcher(), "wait", "--data", data], { env: environment() });
    t.after(() => stopProcess(child));
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const { pid } = JSON.parse(line.toString()) as { pid: number };
    return { child, pid };
  };
  const stopped = await start();
  stopped.child.kill("SIGTERM");
  assert.deepEqual(await once(stopped.child, "exit"), [7, null]);
  const killed = await start();
  const isChild = () => commandOf(killed.pid).includes("hawser.cjs");
  assert.ok(isChild() && killed.pid !== killed.child.pid);
  killed.child.kill("SIGKILL");
  await until("the child has ended", () => !isChild());
});

test("a password in an argument is not in the list of processes", async (t) => {
  const secret = "postgres://root:s3cret@db.internal/postgres";
  for (const node of [process.execPath, ...(typeof old === "string" ? [] : [old.program])]) {
    const words = [launcher(), "wait", "--postgres-url", secret, "--data", data];
    const child = spawn(node, words, { env: environment() });
    t.after(() => stopProcess(child));
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const { pid, rest } = JSON.parse(line.toString()) as { pid: number; rest: string[] };
    assert.ok(rest.includes(secret), "the command itself gets it");
    for (const each of [pid, child.pid!]) {
      assert.match(commandOf(each), /^hawser/);
      assert.doesNotMatch(commandOf(each), /s3cret/);
    }
  }
});

const commandOf = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
};
