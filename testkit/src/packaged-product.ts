// The npm packages of the product for tests: `hawser` and its engines, built as published ones, with keys of
// their own. They are built once for the present sources and kept in node_modules/.cache.
import { createHash } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildPackage } from "@hawser/deploy/build-package.ts";
import {
  buildEngines,
  tarballName,
  type BuiltEngines,
} from "@hawser/deploy/engines/engine-packages.ts";
import { writeTarball } from "@hawser/deploy/engines/write-tarball.ts";
import { makeReleaseKeys, readReleaseKeys, type ReleaseKeys } from "@hawser/deploy/release-keys.ts";
import type { PackageServer } from "./package-server.ts";

export interface PackagedProduct {
  /** The package `hawser` before it was packed. Copy it before a test changes it. */
  directory: string;
  /** The package `hawser` as npm installs it. */
  tarball: string;
  engines: BuiltEngines["engines"];
  /** The tarball of an engine. */
  tarballOf: (engine: BuiltEngines["engines"][number]) => string;
  /** Lets a package server serve the engines, as a registry does. */
  serve: (server: PackageServer) => void;
  keys: ReleaseKeys;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules/.cache/hawser-packages");
const unusedMs = 2 * 86_400_000;
/** A release expires after 90 days, so the packages are built again each month. */
const month = Math.floor(Date.now() / (30 * 86_400_000));

/** Takes seconds for new sources, and a fraction of one later. */
export async function packagedProduct(): Promise<PackagedProduct> {
  const enginesAt = await once("engines", engineInputs(), async (directory) => {
    const { engines } = await buildEngines(directory);
    writeFileSync(join(directory, "built.json"), JSON.stringify(engines));
    writeFileSync(join(directory, "keys.json"), JSON.stringify(makeReleaseKeys()));
  });
  const engines = JSON.parse(
    readFileSync(join(enginesAt, "built.json"), "utf8"),
  ) as BuiltEngines["engines"];
  const keys = readReleaseKeys(join(enginesAt, "keys.json"));
  const productAt = await once("hawser", [enginesAt, ...sourceInputs()], async (directory) => {
    await buildPackage(join(directory, "hawser"), { keys, engines });
    await writeTarball(join(directory, "hawser"), join(directory, "hawser.tgz"));
  });
  const tarballOf = (engine: (typeof engines)[number]) => join(enginesAt, tarballName(engine));
  return {
    directory: join(productAt, "hawser"),
    tarball: join(productAt, "hawser.tgz"),
    engines,
    tarballOf,
    serve(server) {
      for (const engine of engines) server.put(engine.path, readFileSync(tarballOf(engine)));
    },
    keys,
  };
}

/** Runs the work in a new directory, unless it has been done for the same inputs. */
async function once(
  name: string,
  inputs: string[],
  work: (directory: string) => Promise<void>,
): Promise<string> {
  const key = createHash("sha256")
    .update([month, ...inputs].join("\n"))
    .digest("hex")
    .slice(0, 16);
  const directory = join(cache, `${name}-${key}`);
  if (existsSync(directory)) {
    utimesSync(directory, new Date(), new Date());
    return directory;
  }
  mkdirSync(cache, { recursive: true });
  removeUnused();
  const next = mkdtempSync(join(cache, "next-"));
  try {
    await work(next);
    renameSync(next, directory);
  } catch (error) {
    rmSync(next, { recursive: true, force: true });
    // Another test process was faster.
    if (!existsSync(directory)) throw error;
  }
  return directory;
}

function removeUnused(): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (mtimeMs < Date.now() - unusedMs) rmSync(path, { recursive: true, force: true });
  }
}

/** The programs are large, so their size and date stand for their content. */
function engineInputs(): string[] {
  const programs = [
    ".tools/nats-server",
    ...globSync(".tools/engines/*/bin/postgres", { cwd: root }).sort(),
    ...globSync("node_modules/node-linux-*/bin/node", { cwd: root }).sort(),
  ];
  return [
    ...programs.map((path) => {
      const { size, mtimeMs } = statSync(join(root, path));
      return `${path} ${size} ${mtimeMs}`;
    }),
    ...contentsOf("deploy/src/engines/*", "deploy/licences/*", "cli/src/engines/engine-list.ts"),
  ];
}

const sourceInputs = () =>
  contentsOf(
    "{cli,client,contract,control-plane,web,daemon,deploy,host-protocol}/**/*.{ts,tsx,js,css,html,svg,json,sql,sh,txt}",
    "package-lock.json",
    "README.md",
  );

function contentsOf(...patterns: string[]): string[] {
  return globSync(patterns, {
    cwd: root,
    exclude: ["**/node_modules/**", "client/dist/**", "control-plane/pages/**"],
  })
    .filter((path) => !path.endsWith(".test.ts"))
    .sort()
    .map((path) => `${path} ${readFileSync(join(root, path), "base64")}`);
}
