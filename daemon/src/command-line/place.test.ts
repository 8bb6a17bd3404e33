// A release on this machine is placed by the bundled daemon that it contains.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { DaemonManifest } from "@hawser/host-protocol";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { openReleases, renamed, type Releases } from "@hawser/testkit/release.ts";
import { startSmallControlPlane } from "@hawser/testkit/small-control-plane.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { openState } from "../state/state.ts";

let releases: Releases;
let first: DaemonManifest;
let node: string;

before(async () => {
  releases = await openReleases({ version: "3.0.0" });
  first = JSON.parse(
    readFileSync(join(releases.directory, "daemon.json"), "utf8"),
  ) as DaemonManifest;
  node = `node-${process.versions.node}-linux-x64.gz`;
});
after(() => releases[Symbol.dispose]());

function open(t: TestContext, program = releases.daemon()) {
  const directory = mkdtempSync(join(tmpdir(), "hawser place's "));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const home = join(directory, "host");
  const start = (file: string, args: string[]) => {
    const child = spawn(file, args, {
      env: { PATH: process.env["PATH"], HOME: directory },
      stdio: ["ignore", "pipe", "pipe"],
    });
    t.after(() => stopProcess(child, "SIGKILL"));
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    return {
      child,
      ended: once(child, "close").then(([code]) => ({ code: Number(code), output })),
    };
  };
  const args = ["place", "--release", releases.directory, "--state", home];
  return {
    directory,
    home,
    startPlace: () => start(process.execPath, [program, ...args]),
    place: (...more: string[]) => start(process.execPath, [program, ...args, ...more]).ended,
    hawserd: (...words: string[]) => start(join(home, "bin/hawserd"), words).ended,
  };
}

/** Names in the directory, with the target of links and the mode of programs. */
const look = (home: string) =>
  readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && !entry.parentPath.endsWith("/current"))
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const name = path.slice(home.length + 1);
      if (entry.isSymbolicLink()) return `${name} -> ${readlinkSync(path)}`;
      return `${name} ${(statSync(path).mode & 0o777).toString(8)}`;
    })
    .sort();

const layout = (version: string) => [
  "bin/hawserd 755",
  `daemon/${version}/hawserd.mjs 644`,
  `daemon/${version}/node -> ../../node/${process.versions.node}/node`,
  `daemon/current -> ${version}`,
  `node/${process.versions.node}/node 755`,
];

test("a release is placed in the installer's layout, and again without a change", async (t) => {
  const { home, place, hawserd } = open(t);
  const placed = await place();
  assert.deepEqual(placed, { code: 0, output: `Placed hawserd 3.0.0 in ${home}.\n` });
  assert.deepEqual(look(home), layout("3.0.0"));
  assert.equal(statSync(home).mode & 0o777, 0o700);
  assert.deepEqual(await hawserd("--version"), { code: 0, output: "3.0.0\n" });
  const written = statSync(join(home, "bin/hawserd")).ino;
  assert.deepEqual(await place(), { code: 0, output: `hawserd 3.0.0 is in ${home}.\n` });
  assert.equal(statSync(join(home, "bin/hawserd")).ino, written);
});

test("a release that has expired is placed, and one of another publisher is refused", async (t) => {
  const { home, place } = open(t);
  t.after(() => releases.alter(first));
  releases.alter({ expiresAt: "2020-01-01T00:00:00.000Z" });
  assert.equal((await place()).code, 0);
  assert.deepEqual(look(home), layout("3.0.0"));
  releases.alter({}, "stranger");
  const other = open(t);
  const { code, output } = await other.place();
  assert.equal(code, 1);
  assert.match(output, /^The release in .* cannot be used: The manifest is not signed by a key/);
  assert.deepEqual(look(other.home), []);
});

test("Node may be in another place; a missing or altered file is refused and nothing is left", async (t) => {
  const { directory, home, place } = open(t);
  const elsewhere = join(directory, "packed.gz");
  renameSync(join(releases.directory, node), elsewhere);
  t.after(() => {
    if (existsSync(elsewhere)) renameSync(elsewhere, join(releases.directory, node));
  });
  const missing = await place();
  assert.equal(missing.code, 1);
  assert.match(missing.output, /node-\S+\.gz is missing\. .* --node\.\n$/);
  const altered = join(directory, "altered.gz");
  const bytes = readFileSync(elsewhere);
  bytes[1000]! ^= 1;
  for (const content of [bytes, bytes.subarray(0, 5000), Buffer.concat([bytes, bytes])]) {
    writeFileSync(altered, content);
    const refused = await place("--node", altered);
    assert.equal(refused.code, 1);
    assert.match(refused.output, /altered\.gz is not the node-\S+\.gz that was signed\./);
    assert.deepEqual(look(home), []);
  }
  assert.equal((await place("--node", elsewhere)).code, 0);
  assert.deepEqual(look(home), layout("3.0.0"));
  renameSync(elsewhere, join(releases.directory, node));
});

test("a newer release is placed beside the version before it, and an older one is refused", async (t) => {
  const { home, place, hawserd } = open(t);
  t.after(() => releases.alter(first));
  for (const version of ["3.0.0", "3.1.0", "3.2.0"]) {
    releases.publishProgram(version, renamed(version));
    assert.equal((await place()).code, 0);
    assert.equal((await hawserd("--version")).output, `${version}\n`);
  }
  assert.deepEqual(readdirSync(join(home, "daemon")).sort(), ["3.1.0", "3.2.0", "current"]);
  releases.alter(first);
  const older = await place();
  assert.equal(older.code, 1);
  assert.match(older.output, /^Version 3\.2\.0 is installed, and 3\.0\.0 is older\./);
  assert.equal((await hawserd("--version")).output, "3.2.0\n");
});

test("a kill at any moment leaves a host that the next call completes", async (t) => {
  const { home, place, startPlace, hawserd } = open(t);
  const began = performance.now();
  assert.equal((await place()).code, 0);
  const whole = performance.now() - began;
  const seen = new Set<string>();
  // The first run may have been slower than the others, so that most kills came after their end: then earlier kills
  // follow.
  for (let part = 1; part <= 8 || (seen.size < 3 && part <= 32); part++) {
    if (part % 4 === 1) rmSync(home, { recursive: true, force: true });
    const { child, ended } = startPlace();
    const share = (((part - 1) % 8) + 1) / 8 / 2 ** Math.floor((part - 1) / 8);
    await pause(whole * share);
    child.kill("SIGKILL");
    await ended;
    const left = existsSync(home) ? look(home) : [];
    seen.add(left.map((line) => line.split(" ")[0]).join(" "));
    // A pointer that exists leads to a version that starts.
    if (left.includes("daemon/current -> 3.0.0")) {
      assert.equal((await hawserd("--version")).output, "3.0.0\n");
    }
    if (part % 4 === 0) {
      assert.equal((await place()).code, 0);
      assert.deepEqual(look(home), layout("3.0.0"));
    }
  }
  assert.ok(seen.size >= 3, [...seen].join("\n"));
});

test("an installer that was killed before it moved Node is completed", async (t) => {
  const { home, place } = open(t);
  mkdirSync(join(home, "node", process.versions.node), { recursive: true });
  mkdirSync(join(home, "daemon/3.0.0"), { recursive: true });
  chmodSync(home, 0o700);
  assert.equal((await place()).code, 0);
  assert.deepEqual(look(home), layout("3.0.0"));
});

test("setup without a service pairs and writes the policy, and starts nothing", async (t) => {
  const { directory, home, place, hawserd } = open(t);
  await using control = await startSmallControlPlane();
  await place();
  const root = join(directory, "src");
  mkdirSync(root);
  const setup = (...more: string[]) =>
    hawserd("setup", "--no-service", "--server", control.baseUrl, "--root", root, ...more);
  const unpaired = await setup();
  assert.equal(unpaired.code, 1);
  assert.match(unpaired.output, /This host is not paired, and the command has no token\./);
  const paired = await setup("--token", "hwp_0123456789abcdef0123456789abcdef");
  assert.equal(paired.code, 0, paired.output);
  assert.match(paired.output, /paired as ins_/);
  const state = openState(home);
  const { instanceId } = state.readCredentials()!;
  assert.ok(readFileSync(state.policyPath, "utf8").includes(`root = ${root}`));
  assert.equal(state.readStatus(), undefined, "no daemon has run");
  // A program that starts the host repeats the command without a token.
  assert.equal((await setup()).code, 0);
  assert.equal(state.readCredentials()!.instanceId, instanceId);
});

test("the sources trust no publisher, and place nothing", async (t) => {
  const { home, place } = open(t, mainFile("daemon"));
  const { code, output } = await place();
  assert.equal(code, 1);
  assert.match(output, /^This hawserd runs from the sources and trusts no publisher\./);
  assert.deepEqual(look(home), []);
});
