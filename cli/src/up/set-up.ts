// Brings the database, the keys of NATS and the first organization to the state of this version, with the
// control plane's own commands. Each can be repeated (decision 0072). If they have succeeded for this version
// and this cluster before, they are skipped, because each takes a quarter of a second.
import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "../command-failed.ts";
import { writeSettings, type Settings } from "../settings.ts";
import type { Database } from "./database.ts";
import { explainFiles } from "./data-directory.ts";
import { partEnvironment } from "./environment.ts";
import { keep } from "./keeper.ts";
import { fabricOf } from "./nats.ts";

export interface SetUpOptions {
  dataDirectory: string;
  packageDirectory: string;
  settings: Settings;
  database: Database;
  /** host:port each, as nats-server listens. */
  addresses: { listen: string; websocket: string; monitor: string };
}

/** The e-mail address of the owner that the first start makes. */
export const firstOwner = "owner@localhost.example";

export const masterKeyOf = (dataDirectory: string) => join(dataDirectory, "master-key");
export const keyFileOf = (dataDirectory: string) => join(dataDirectory, "bootstrap-key");

/** The key that the commands on this machine use; undefined if the file is missing. */
export function readKey(dataDirectory: string): string | undefined {
  const file = keyFileOf(dataDirectory);
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
}

/** Returns the migrations that were applied. Changes `settings`. */
export async function setUpService(options: SetUpOptions): Promise<{ applied: string[] }> {
  const { dataDirectory, settings, database, addresses } = options;
  const mark = markOf(options.packageDirectory, database);
  ensureMasterKey(dataDirectory, settings.setUpFor !== undefined);
  const run = <Result>(words: string[], url: string, more: Record<string, string> = {}) =>
    runControlPlane<Result>(options, words, { HAWSER_DATABASE_URL: url, ...more });
  const placed = ["--directory", fabricOf(dataDirectory), ...wordsOf(addresses)];
  if (settings.setUpFor === mark && existsSync(keyFileOf(dataDirectory))) {
    if (!hasAddresses(dataDirectory, addresses))
      await run(["nats-config", ...placed], database.nodeUrl);
    return { applied: [] };
  }
  if (database.init) {
    const { words, adminUrl } = database.init;
    await run(["init-database", ...words], database.ownerUrl, { HAWSER_ADMIN_URL: adminUrl });
  }
  const { applied } = await run<{ applied: string[] }>(["migrate"], database.ownerUrl);
  const keyFile = keyFileOf(dataDirectory);
  restoreKeyFile(keyFile, settings.key);
  const owner = ["--organization", "My organization", "--email", firstOwner];
  const bootstrap = run(["bootstrap", ...owner, "--key-file", keyFile], database.nodeUrl);
  await Promise.all([
    run(["init-fabric", ...placed], database.nodeUrl),
    // The owner may have revoked the first key since.
    bootstrap.catch((error: Error) => {
      if (settings.key === undefined || !/is set up already/.test(error.message)) throw error;
    }),
  ]);
  if (!hasAddresses(dataDirectory, addresses))
    await run(["nats-config", ...placed], database.nodeUrl);
  settings.key = readFileSync(keyFile, "utf8").trim();
  settings.setUpFor = mark;
  writeSettings(dataDirectory, settings);
  return { applied };
}

/** The settings have the key too. bootstrap only looks at the file. */
function restoreKeyFile(file: string, key: string | undefined): void {
  if (key === undefined || existsSync(file) || existsSync(`${file}.next`)) return;
  writeFileSync(file, `${key}\n`, { mode: 0o600, flush: true });
}

const wordsOf = (addresses: SetUpOptions["addresses"]) =>
  Object.entries(addresses).flatMap(([name, value]) => [`--${name}`, value]);

/** Whether nats-server's configuration contains these addresses. */
function hasAddresses(dataDirectory: string, addresses: SetUpOptions["addresses"]): boolean {
  const file = join(fabricOf(dataDirectory), "nats-server.conf");
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  return (
    text.includes(`"${addresses.listen}"`) &&
    text.includes(`"${addresses.websocket}"`) &&
    (addresses.monitor === "off" ? !/^http:/m.test(text) : text.includes(`"${addresses.monitor}"`))
  );
}

/** Whether the commands have succeeded for this version and this cluster. */
export const isSetUp = (packageDirectory: string, settings: Settings, database: Database) =>
  settings.setUpFor === markOf(packageDirectory, database);

/** Changes with the program, its migrations, and the cluster: a restored cluster is another directory. */
function markOf(packageDirectory: string, database: Database): string {
  const migrations = readdirSync(join(packageDirectory, "migrations")).toSorted();
  const { size } = statSync(controlPlaneOf(packageDirectory));
  return createHash("sha256")
    .update(JSON.stringify([migrations, size, database.identity]))
    .digest("hex");
}

export const controlPlaneOf = (packageDirectory: string) =>
  join(packageDirectory, "lib/server/control-plane.mjs");

/** Encrypts the secrets in the database. Without it they cannot be read, so it is never made twice. */
function ensureMasterKey(dataDirectory: string, isSetUp: boolean): void {
  const file = masterKeyOf(dataDirectory);
  if (existsSync(file)) return;
  if (isSetUp) {
    throw new CommandFailed(
      `${file} is missing. It encrypts the secrets in the database, and cannot be made again. Copy it from a backup.`,
    );
  }
  const text = `${randomBytes(32).toString("hex")}\n`;
  writeFileSync(`${file}.next`, text, { mode: 0o600, flush: true });
  renameSync(`${file}.next`, file);
}

/** Runs a command of the control plane with --json, and returns its result. */
export async function runControlPlane<Result>(
  { dataDirectory, packageDirectory }: Pick<SetUpOptions, "dataDirectory" | "packageDirectory">,
  words: string[],
  environment: Record<string, string>,
): Promise<Result> {
  const { code, stdout, stderr } = await keep({
    program: process.execPath,
    args: [controlPlaneOf(packageDirectory), ...words, "--json"],
    environment: partEnvironment({
      ...environment,
      HAWSER_MASTER_KEY_FILE: masterKeyOf(dataDirectory),
      NODE_COMPILE_CACHE: join(dataDirectory, "cache"),
    }),
    directory: dataDirectory,
    output: "pipe",
  }).ended;
  if (code === 0) return JSON.parse(stdout) as Result;
  throw explainFiles(
    new CommandFailed(`The step "${words[0]}" failed: ${stderr.trim() || `code ${code}`}`),
    dataDirectory,
  );
}
