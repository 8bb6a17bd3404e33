// An engine is used only if its bytes are those of the signed list, and whatever goes wrong is a sentence.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { makeSigningKey, signManifest } from "@hawser/host-protocol";
import { freePort } from "@hawser/testkit/free-port.ts";
import { startPackageServer, type Fault } from "@hawser/testkit/package-server.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { makeSmallDisk } from "@hawser/testkit/small-disk.ts";
import { makeTarball, packageOf } from "@hawser/testkit/tarball.ts";
import { CommandFailed } from "../command-failed.ts";
import { hashFiles, platformHere, readEngineList, type Engine } from "./engine-list.ts";
import { findNats } from "./find-nats.ts";
import { findNode } from "./find-node.ts";
import { findPostgres } from "./find-postgres.ts";
import { listedEngine, obtainEngine } from "./obtain-engine.ts";

const key = makeSigningKey();
const server = await startPackageServer();
after(() => server[Symbol.asyncDispose]());
process.env["npm_config_registry"] = server.url;

/** Large enough that a cut connection leaves a part of it. */
const program = Buffer.concat([Buffer.from("#!/bin/sh\necho 2.99.1\n"), randomBytes(400_000)]);

/** A package directory whose list names one engine, and an empty data directory. */
async function openWorld(t: { after: (work: () => void) => void }, change: Partial<Engine> = {}) {
  const place = mkdtempSync(join(tmpdir(), "hawser-engines-"));
  t.after(() => removeDirectory(place));
  const packageDirectory = join(place, "node_modules/hawser");
  const files = join(place, "files");
  const parts = { "bin/nats-server": program, LICENSE: Buffer.from("free\n") };
  writeFiles(files, parts);
  const tarball = makeTarball(
    Object.entries(parts).map(([name, content]) => ({
      name: `package/${name}`,
      content,
      mode: name.startsWith("bin/") ? 0o755 : 0o644,
    })),
  );
  const platform = platformHere();
  const path = `@hawser/nats-${platform}/-/nats-${platform}-2.99.1.tgz`;
  const { sha512, size } = packageOf(path, tarball);
  server.put(path, tarball);
  server.fail();
  const engine: Engine = {
    name: "nats",
    version: "2.99.1",
    platform,
    package: `@hawser/nats-${platform}`,
    path,
    size,
    sha512,
    files: await hashFiles(files),
    unpackedSize: program.length + 5,
    ...change,
  };
  writeList(packageDirectory, [engine]);
  const said: string[] = [];
  return {
    place,
    engine,
    parts,
    said,
    options: {
      dataDirectory: join(place, "data"),
      packageDirectory,
      trustedKeys: [key.publicKey],
      onProgress: (sentence: string) => void said.push(sentence),
    },
  };
}

function writeFiles(directory: string, parts: Record<string, Buffer>): void {
  for (const [name, content] of Object.entries(parts)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content, { mode: 0o755 });
  }
}

function writeList(packageDirectory: string, engines: Engine[], by = key): void {
  const directory = join(packageDirectory, "engines");
  mkdirSync(directory, { recursive: true });
  const text = JSON.stringify({ type: "hawser engines", publishedAt: "2026-11-18", engines });
  writeFileSync(join(directory, "engines.json"), text);
  writeFileSync(join(directory, "engines.json.sig"), signManifest(by.privateKey, text));
}

const failsWith = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CommandFailed, String(error));
  assert.match(error.message, message);
  return true;
};

test("an engine is downloaded once, checked, and unpacked into the data directory", async (t) => {
  const { engine, options } = await openWorld(t);
  const asked = server.asked.length;
  const found = await obtainEngine(listedEngine("nats", options)!, options);
  assert.equal(found!.directory, join(options.dataDirectory, "engines/nats-2.99.1"));
  assert.deepEqual(readFileSync(join(found!.directory, "bin/nats-server")), program);
  assert.equal(statSync(join(found!.directory, "bin/nats-server")).mode & 0o777, 0o755);
  assert.deepEqual(readdirSync(join(options.dataDirectory, "engines")), ["nats-2.99.1"]);
  server.fail("gone");
  assert.deepEqual(await obtainEngine(engine, options), found);
  assert.equal(server.asked.length, asked + 1);
});

test("what a killed process had begun to unpack is removed", async (t) => {
  const { engine, options } = await openWorld(t);
  const engines = join(options.dataDirectory, "engines");
  const { pid } = spawnSync("true");
  for (const owner of [pid, process.ppid])
    mkdirSync(join(engines, `nats-2.99.1.${owner}`), { recursive: true });
  await obtainEngine(engine, options);
  assert.deepEqual(readdirSync(engines).sort(), ["nats-2.99.1", `nats-2.99.1.${process.ppid}`]);
});

test("a download that broke is continued by the next start", async (t) => {
  const { engine, options } = await openWorld(t);
  server.fail("cut");
  await assert.rejects(
    obtainEngine(engine, options),
    failsWith(
      /^nats-server 2\.99\.1 is not on this machine and cannot be downloaded\. .* The next start continues the download\. Or install it with npm beside hawser: npm install -g hawser @hawser\/nats-/,
    ),
  );
  server.fail();
  await obtainEngine(engine, options);
  assert.match(server.asked.at(-1)!.range!, /^bytes=[1-9]\d+-$/);
});

test("a data directory that cannot be made is named, with what to do", async (t) => {
  const { engine, options } = await openWorld(t);
  const file = `${options.dataDirectory}-file`;
  writeFileSync(file, "");
  await assert.rejects(
    obtainEngine(engine, { ...options, dataDirectory: join(file, "data") }),
    failsWith(/cannot be placed in .* \(ENOTDIR\)\. Choose a directory that you may write to/),
  );
});

test("other bytes than those of the list are never used", async (t) => {
  const faults: [Fault, RegExp][] = [
    ["flip", /was not installed\. The file downloaded from .* is not what was published/],
    ["short", /cannot be downloaded\. .* ended after \d+ of \d+ bytes/],
    ["gone", /cannot be downloaded\. .* it answered 404/],
  ];
  for (const [fault, message] of faults) {
    const { engine, options } = await openWorld(t);
    server.fail(fault);
    await assert.rejects(obtainEngine(engine, options), failsWith(message), fault);
    assert.ok(!existsSync(join(options.dataDirectory, "engines/nats-2.99.1")), fault);
  }
  const { engine, options } = await openWorld(t, {
    sha512: createHash("sha512").update("other").digest("base64"),
  });
  await assert.rejects(obtainEngine(engine, options), failsWith(/is not what was published/));
  const { engine: larger, options: others } = await openWorld(t, { unpackedSize: 1000 });
  await assert.rejects(obtainEngine(larger, others), failsWith(/larger than 1000 bytes/));
});

test("without a network, the sentence names the cause and the way out", async (t) => {
  const { engine, options } = await openWorld(t);
  const registry = process.env["npm_config_registry"];
  t.after(() => void (process.env["npm_config_registry"] = registry));
  process.env["npm_config_registry"] = `http://127.0.0.1:${await freePort()}/`;
  await assert.rejects(
    obtainEngine(engine, options),
    failsWith(/the server cannot be reached \(ECONNREFUSED\)\. .* npm install -g hawser @hawser/),
  );
  t.after(() => delete process.env["https_proxy"]);
  process.env["https_proxy"] = "http://127.0.0.1:8";
  await assert.rejects(
    obtainEngine(engine, options),
    failsWith(/To use the proxy of https_proxy, set NODE_USE_ENV_PROXY=1 as well/),
  );
});

test("a package beside hawser is used without a network if its files are those of the list", async (t) => {
  const { engine, options, parts, place } = await openWorld(t);
  const beside = join(place, "node_modules", engine.package);
  writeFiles(beside, { ...parts, "package.json": Buffer.from("{}") });
  server.fail("gone");
  assert.deepEqual(await obtainEngine(engine, options), { engine, directory: beside });
  writeFiles(beside, { LICENSE: Buffer.from("changed\n") });
  await assert.rejects(obtainEngine(engine, options), failsWith(/answered 404/));
  assert.equal(await obtainEngine(engine, { ...options, mayDownload: false }), undefined);
});

test("a package beside hawser that another user can change is not used", async (t) => {
  const { engine, options, parts, place } = await openWorld(t);
  const beside = join(place, "node_modules", engine.package);
  writeFiles(beside, parts);
  const found = async () => await obtainEngine(engine, { ...options, mayDownload: false });
  for (const directory of [join(place, "node_modules"), dirname(beside), beside]) {
    assert.deepEqual(await found(), { engine, directory: beside });
    chmodSync(directory, 0o777);
    assert.equal(await found(), undefined, `${directory} is writable for all`);
    chmodSync(directory, 0o755);
    if (process.getuid?.() !== 0) continue;
    chownSync(directory, 65_534, 65_534);
    assert.equal(await found(), undefined, `${directory} belongs to another user`);
    chownSync(directory, 0, 0);
  }
});

test("a list by another publisher, or a changed one, is refused", async (t) => {
  const { engine, options } = await openWorld(t);
  const { packageDirectory, trustedKeys } = options;
  assert.equal(readEngineList(packageDirectory, trustedKeys)?.engines.length, 1);
  writeList(packageDirectory, [engine], makeSigningKey());
  const refused = /is not signed by the publisher of this package\. Install hawser again/;
  assert.throws(() => listedEngine("nats", options), refused);
  writeList(packageDirectory, [engine]);
  writeFileSync(
    join(packageDirectory, "engines/engines.json"),
    JSON.stringify({ type: "hawser engines", engines: [{ ...engine, size: 1 }] }),
  );
  assert.throws(() => listedEngine("nats", options), refused);
});

test("a disk that is too small is refused before the download, and a full one in its course", async (t) => {
  const disk = makeSmallDisk(2);
  if (typeof disk === "string") return t.skip(disk);
  using _disk = disk;
  const { engine, options } = await openWorld(t);
  const small = { ...options, dataDirectory: join(disk.directory, "data") };
  const sentence =
    /^The disk of .*engines is full: nats-server 2\.99\.1 does not fit, .* --data\.$/;
  const asked = server.asked.length;
  disk.fill(300_000);
  await assert.rejects(obtainEngine(engine, small), failsWith(sentence));
  assert.equal(server.asked.length, asked);
  disk.empty();
  // Files occupy whole pages, so that what just fits by its size does not fit.
  disk.fill(Math.ceil((engine.size + engine.unpackedSize) / 4096) * 4096);
  await assert.rejects(obtainEngine(engine, small), failsWith(/does not fit, no space is left/));
  assert.deepEqual(readdirSync(join(small.dataDirectory, "engines")), ["nats-2.99.1.tgz.part"]);
  disk.empty();
  assert.ok(await obtainEngine(engine, small));
});

test("a platform without packages is named, with what to install", async (t) => {
  const { options } = await openWorld(t, { platform: "other-x64" });
  const path = process.env["PATH"];
  t.after(() => void (process.env["PATH"] = path));
  const here = platformHere();
  await assert.rejects(
    findNode(options),
    failsWith(new RegExp(`no package with Node for ${here}.* Install Node 24\\.12 or later`)),
  );
  await assert.rejects(
    findPostgres({ ...options, major: 9 }),
    failsWith(/^The data is of PostgreSQL 9, which is not on this machine\. Install PostgreSQL 9/),
  );
});

test("an engine of the environment is used or refused, never replaced in silence", async (t) => {
  const { options, place } = await openWorld(t);
  t.after(() => {
    delete process.env["HAWSER_NATS_SERVER"];
    delete process.env["HAWSER_POSTGRES_BIN"];
  });
  const fake = (name: string, version: string) => {
    const file = join(place, name);
    writeFileSync(file, `#!/bin/sh\necho 'nats-server: v${version}'\n`, { mode: 0o755 });
    return file;
  };
  process.env["HAWSER_NATS_SERVER"] = fake("new", "2.12.7");
  assert.deepEqual(await findNats(options), {
    program: join(place, "new"),
    version: "2.12.7",
    origin: "installed",
  });
  process.env["HAWSER_NATS_SERVER"] = fake("old", "2.9.10");
  await assert.rejects(findNats(options), failsWith(/names nats-server 2\.9\.10, and 2\.12\.7/));
  process.env["HAWSER_NATS_SERVER"] = join(place, "missing");
  await assert.rejects(findNats(options), failsWith(/does not run as nats-server/));
  process.env["HAWSER_POSTGRES_BIN"] = place;
  await assert.rejects(findPostgres(options), failsWith(/does not contain the programs postgres/));
});

test("the newest installed PostgreSQL is preferred, and data of a major version gets that one", async (t) => {
  const { options } = await openWorld(t);
  const found = await findPostgres(options);
  assert.equal(found.origin, "installed");
  assert.ok(found.major >= 15 && existsSync(join(found.bin, "initdb")));
  assert.deepEqual(await findPostgres({ ...options, major: found.major }), found);
});
