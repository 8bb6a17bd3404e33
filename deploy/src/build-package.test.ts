// What `npm run package` writes is what a user installs, so the tests read the tarballs and run what is in them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  createReadStream,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createGunzip } from "node:zlib";
import { readEngineList } from "@hawser/cli/engines/engine-list.ts";
import { findNode } from "@hawser/cli/engines/find-node.ts";
import { obtainEngine } from "@hawser/cli/engines/obtain-engine.ts";
import { readTar } from "@hawser/daemon/installs/tar.ts";
import { DaemonManifest, readManifest } from "@hawser/host-protocol";
import { startPackageServer } from "@hawser/testkit/package-server.ts";
import { packagedProduct } from "@hawser/testkit/packaged-product.ts";
import { writeTarball } from "./engines/write-tarball.ts";

const product = await packagedProduct();
const { directory, engines } = product;
const trustedKeys = product.keys.keys.map(({ publicKey }) => publicKey);
const read = (file: string) => readFileSync(join(directory, file));

function temporaryDirectory(t: { after: (work: () => void) => void }): string {
  const place = mkdtempSync(join(tmpdir(), "hawser-package-"));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  return place;
}

async function filesOf(tarball: string): Promise<Map<string, { text: string; mode: string }>> {
  const files = new Map<string, { text: string; mode: string }>();
  const source = createReadStream(tarball).pipe(createGunzip());
  for await (const { path, isExecutable, content } of readTar(source as AsyncIterable<Buffer>)) {
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(part);
    const text = Buffer.concat(parts).toString("latin1");
    files.set(path.join("/"), { text, mode: isExecutable ? "755" : "644" });
  }
  return files;
}

test("the package hawser contains the programs, the migrations, the dashboard, the release and the list, and no secret", async () => {
  const files = await filesOf(product.tarball);
  const names = [...files.keys()].filter((name) => !/^(?:migrations|pages)\//.test(name));
  const version = publishedVersion();
  assert.deepEqual(names.sort(), [
    "LICENSE",
    "README.md",
    "THIRD-PARTY.txt",
    "bin/hawser.cjs",
    "engines/engines.json",
    "engines/engines.json.sig",
    "lib/server/control-plane.mjs",
    "lib/server/examples.json",
    "lib/server/hawser.mjs",
    "package.json",
    "releases/agents.json",
    "releases/agents.json.sig",
    "releases/daemon.json",
    "releases/daemon.json.sig",
    `releases/hawserd-${version}.mjs`,
    "releases/install.sh",
  ]);
  assert.ok(files.has("migrations/0001-ids-and-roles.sql"));
  const pages = [...files.keys()].filter((name) => name.startsWith("pages/"));
  assert.ok(pages.includes("pages/index.html.br"));
  assert.ok(pages.some((name) => /^pages\/assets\/index-[\w-]+\.js$/.test(name)));
  assert.ok(!pages.includes("pages/packages.json"));
  assert.equal(files.get("bin/hawser.cjs")!.mode, "755");
  const manifest = JSON.parse(files.get("package.json")!.text) as Record<string, unknown>;
  assert.deepEqual(Object.keys(manifest).sort(), [
    "bin",
    "description",
    "engines",
    "license",
    "name",
    "version",
  ]);
  for (const [name, { text }] of files) {
    for (const { privateKey } of product.keys.keys) assert.ok(!text.includes(privateKey!), name);
    assert.ok(!text.includes(process.cwd()), `${name} names the machine that it was built on`);
  }
  const licences = files.get("THIRD-PARTY.txt")!.text;
  assert.match(licences, /==== zod [\d.]+ \(MIT\) ====\n\nMIT License/);
  // What only the dashboard contains.
  assert.match(licences, /==== react-dom [\d.]+ \(MIT\) ====\n\nMIT License/);
  assert.match(licences, /==== @fontsource-variable\/geist [\d.]+ \(OFL-1\.1\) ====\n\n\w/);
});

test("the list of engines and the release are signed with the keys that the programs trust", () => {
  assert.deepEqual(readEngineList(directory, trustedKeys)!.engines, engines);
  const manifest = readManifest(
    DaemonManifest,
    read("releases/daemon.json"),
    read("releases/daemon.json.sig"),
    trustedKeys,
    Date.now(),
  );
  assert.equal(manifest.version, publishedVersion());
  for (const key of trustedKeys) assert.ok(read("bin/hawser.cjs").includes(key));
});

test("an engine's package has no scripts, carries its licences, and comes out of a registry running", async (t) => {
  await using server = await startPackageServer();
  product.serve(server);
  process.env["npm_config_registry"] = server.url;
  const dataDirectory = temporaryDirectory(t);
  const options = { dataDirectory, packageDirectory: directory, trustedKeys, onProgress: () => {} };
  const versions: Record<string, [program: string, says: RegExp]> = {
    nats: ["bin/nats-server", /^nats-server: v(\S+)\n$/],
    node: ["node", /^v(\S+)\n$/],
    postgres: ["bin/postgres", /^postgres \(PostgreSQL\) (\S+)\n$/],
  };
  assert.ok(engines.some(({ name }) => name === "nats"));
  for (const engine of engines) {
    const files = await filesOf(product.tarballOf(engine));
    const manifest = JSON.parse(files.get("package.json")!.text) as Record<string, unknown>;
    assert.ok(!("scripts" in manifest) && !("dependencies" in manifest), engine.package);
    assert.ok(files.has("LICENSE") || files.has("COPYRIGHT"), engine.package);
    const { directory: unpacked } = (await obtainEngine(engine, options))!;
    const [program, says] = versions[engine.name]!;
    const said = execFileSync(join(unpacked, program), ["--version"], { encoding: "utf8" });
    const [, version] = says.exec(said)!;
    assert.equal(engine.version, engine.name === "postgres" ? `${version}.0` : version);
  }
  const { packed } = await findNode(options);
  const { platforms } = JSON.parse(read("releases/daemon.json").toString()) as DaemonManifest;
  const { node } = platforms[`${process.platform}-${process.arch}` as keyof typeof platforms]!;
  assert.ok(packed.endsWith(`/${node.file}`), "hosts download the file under this name");
  assert.equal(createHash("sha256").update(readFileSync(packed)).digest("hex"), node.sha256);
});

test("the same files give the same tarball, whatever their dates", async (t) => {
  const place = temporaryDirectory(t);
  const copy = join(place, "copy");
  cpSync(directory, copy, { recursive: true });
  for (const file of globSync("**/*", { cwd: copy })) utimesSync(join(copy, file), 1, 1);
  await writeTarball(copy, join(place, "again.tgz"));
  assert.ok(readFileSync(join(place, "again.tgz")).equals(readFileSync(product.tarball)));
  assert.ok(statSync(product.tarball).size < 5_000_000);
});

/** The version that the package says it has. */
function publishedVersion(): string {
  return (JSON.parse(read("package.json").toString()) as { version: string }).version;
}
