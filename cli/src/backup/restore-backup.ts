// `hawser restore`: makes a data directory from a backup. Everything is built in a directory beside it, and
// appears under its name by one rename. Killed before that, the restore has changed nothing.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { flushDirectory } from "@hawser/daemon/installs/unpack.ts";
import { replaceFile } from "@hawser/daemon/state/replace-file.ts";
import { commandFor } from "../command-for.ts";
import { CommandFailed } from "../command-failed.ts";
import type { Postgres } from "../engines/find-postgres.ts";
import { carryOver, describeCarrying, markerName } from "./carry-over.ts";
import { runningSocket } from "./cluster.ts";
import { copyJournal, listBlobs, pairedInstance } from "./host-state.ts";
import { loadDatabase } from "./load-database.ts";
import { lockData } from "./lock.ts";
import { isFull } from "./make-backup.ts";
import { names, type Manifest } from "./manifest.ts";
import { checkArchive, members } from "./read-archive.ts";
import { runSql, type Server } from "./run-program.ts";
import { unknownMigrations } from "./schema-version.ts";

export interface RestoreOptions {
  file: string;
  dataDirectory: string;
  /** Moves existing data aside instead of refusing it. */
  replace: boolean;
  packageDirectory: string;
  /** Finds the newest programs. Engines may be placed into the directory. */
  findPostgres: (dataDirectory: string) => Promise<Postgres>;
  onProgress: (sentence: string) => void;
}

export interface Restored {
  manifest: Manifest;
  /** Where the former data is now; undefined if there was none. */
  movedTo: string | undefined;
  revokedExposures: number;
  pausedSchedules: number;
}

/** What may be in a directory that counts as empty: everything else is data. */
const noData = new Set(["lock", "log", "run", "engines", "releases", "backups", "cache", "node"]);

export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { file, dataDirectory: data, onProgress } = options;
  onProgress(`Checking ${file} …`);
  const manifest = await checkArchive(file);
  refuseNewer(manifest, options.packageDirectory);
  const existing = existsSync(data) ? readdirSync(data).filter((name) => name !== "lock") : [];
  const strange = existing.find((name) => !noData.has(name));
  if (strange !== undefined && !options.replace) {
    throw new CommandFailed(
      `${data} is not empty: it contains ${strange}. Add --replace to move it aside, which deletes nothing, or name another directory with --data.`,
      2,
    );
  }
  using _dataLock = existsSync(data) ? lockOrRefuse(data) : undefined;
  const next = `${data}.restoring`;
  openNext(next);
  // Held until the end: after the rename it is the lock of the new data directory.
  using _nextLock = lockOrRefuse(next);
  try {
    await endLeftRestore(next);
    const host = join(data, "host");
    const built = await build(options, manifest, next, host);
    const movedTo = existing.length > 0 ? asideOf(data) : undefined;
    if (movedTo) replaceFile(join(next, markerName), { from: movedTo });
    await flushDirectory(next);
    await putInPlace(data, next, movedTo);
    for (const sentence of movedTo ? carryOver(data) : []) onProgress(sentence);
    // The launcher of an old Node has unpacked its Node there. Nothing of it is data.
    const isEmptied = movedTo !== undefined && strange === undefined;
    if (isEmptied) rmSync(movedTo, { recursive: true, force: true });
    return { manifest, movedTo: isEmptied ? undefined : movedTo, ...built };
  } catch (error) {
    if (existsSync(next)) rmSync(next, { recursive: true, force: true });
    throw isFull(error)
      ? new CommandFailed(
          `The disk of ${dirname(data)} is full, so nothing was restored. Free some space and run this again.`,
        )
      : error;
  }
}

/** Makes the directory in which data is built, or takes over that of a killed restore, which has a lock. */
function openNext(next: string): void {
  const found = lstatSync(next, { throwIfNoEntry: false });
  if (!found) {
    mkdirSync(dirname(next), { recursive: true, mode: 0o700 });
    mkdirSync(next, { mode: 0o700 });
    return;
  }
  // A link of another user could name any directory of this one, whose files would be removed.
  const names = found.isDirectory() ? readdirSync(next) : ["no directory"];
  const isOwn = !process.getuid || found.uid === process.getuid();
  if (!isOwn || (names.length > 0 && !names.includes("lock"))) {
    throw new CommandFailed(
      `${next}, which a restore uses, exists and was not made by one. Move it away, and run this again. Nothing was changed.`,
    );
  }
  chmodSync(next, 0o700);
}

function lockOrRefuse(directory: string): Disposable {
  const lock = lockData(directory);
  if (lock) return lock;
  throw new CommandFailed(
    `A hawser command uses ${directory}. Stop the service with "hawser down", or wait until the other command has ended, and run this again.`,
  );
}

function refuseNewer(manifest: Manifest, packageDirectory: string): void {
  const [unknown] = unknownMigrations(manifest.migrations, packageDirectory).toReversed();
  if (unknown === undefined) return;
  throw new CommandFailed(
    `The backup was made by a newer version of hawser (${manifest.hawser}): its database has ${unknown}, which this version does not know. Install that version or a later one, and restore with it. Nothing was changed.`,
  );
}

/** The lock of the directory is free, so the restore that made it was killed. */
async function endLeftRestore(next: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (runningSocket(join(next, "postgres")) !== undefined && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (const name of readdirSync(next)) {
    if (name === "lock") continue;
    // A PostgreSQL that is just ending may still write a file.
    rmSync(join(next, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

async function build(
  { file, dataDirectory, findPostgres, onProgress }: RestoreOptions,
  manifest: Manifest,
  next: string,
  formerHost: string,
): Promise<Omit<Restored, "manifest" | "movedTo">> {
  // Engines that exist already are used from where they are.
  const place = existsSync(join(dataDirectory, "engines")) ? dataDirectory : next;
  const postgres = await findPostgres(place);
  if (postgres.major < manifest.postgres.major) {
    throw new CommandFailed(
      `The backup is of PostgreSQL ${manifest.postgres.major}, and the newest here is ${postgres.version}. Install PostgreSQL ${manifest.postgres.major} or later, and run this again. Nothing was changed.`,
    );
  }
  onProgress("Writing settings, keys and the state of this machine's host …");
  let roles = "";
  for await (const { name, content } of members(file)) {
    if (name === names.database || name.startsWith(names.manifest)) continue;
    if (name === names.roles) roles = (await readAll(content)).toString();
    else await placeFile(next, name, content);
  }
  forgetSetUp(join(next, "settings.json"));
  await keepNewerJournal(next, formerHost, onProgress);
  const what = `${manifest.createdAt}, PostgreSQL ${manifest.postgres.version}`;
  onProgress(`Restoring the database (${what}) with PostgreSQL ${postgres.version} …`);
  let numbers = { revokedExposures: 0, pausedSchedules: 0 };
  await loadDatabase({
    postgres,
    directory: join(next, "postgres"),
    roles,
    dump: openDump(file),
    after: async (server) => {
      numbers = await settleTime(server, manifest);
    },
  });
  return numbers;
}

async function readAll(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

/** The name was accepted by checkArchive, so it leads nowhere else. */
async function placeFile(
  next: string,
  name: string,
  content: AsyncIterable<Buffer>,
): Promise<void> {
  const path = join(next, name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const handle = await open(path, "wx", 0o600);
  try {
    for await (const part of content) await handle.writeFile(part);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function openDump(file: string): Readable {
  async function* read() {
    for await (const { name, content } of members(file)) {
      if (name === names.database) yield* content;
    }
  }
  const gunzip = createGunzip();
  const source = Readable.from(read(), { objectMode: false });
  source.on("error", (error) => gunzip.destroy(error));
  gunzip.on("close", () => source.destroy());
  return source.pipe(gunzip);
}

/** `hawser up` skips the set-up commands for a cluster that it knows. This cluster is another one. */
function forgetSetUp(file: string): void {
  const { setUpFor: _, ...settings } = JSON.parse(readFileSync(file, "utf8")) as Record<
    string,
    unknown
  >;
  replaceFile(file, settings);
}

/**
 * The journal of this machine, if the same host is restored here: it knows which commands ran since the
 * backup, so they do not run again, and it sends the log entries of the last day again.
 */
async function keepNewerJournal(
  next: string,
  formerHost: string,
  onProgress: (sentence: string) => void,
): Promise<void> {
  const instanceId = pairedInstance(join(next, "host"));
  const journal = `journal-${instanceId}.sqlite`;
  if (instanceId === undefined || !existsSync(join(formerHost, journal))) return;
  const place = join(next, "host");
  const copy = join(place, `${journal}.next`);
  try {
    await copyJournal(join(formerHost, journal), copy, place);
  } catch (error) {
    if (isFull(error)) throw error;
    rmSync(copy, { force: true });
    const why = (error as Error).message;
    onProgress(`The journal of the backup is used, because this machine's cannot be: ${why}`);
    return;
  }
  chmodSync(copy, 0o600);
  renameSync(copy, join(place, journal));
  for (const blob of listBlobs(formerHost, journal)) {
    mkdirSync(dirname(join(place, blob)), { recursive: true, mode: 0o700 });
    writeFileSync(join(place, blob), readFileSync(join(formerHost, blob)), { mode: 0o600 });
  }
  onProgress("The journal of this machine's host is kept, because it is newer than the backup.");
}

/**
 * What a database of an earlier time would do wrong: give access that was revoked since, run what has run
 * since, and refuse the restored host. A schedule whose next time lies ahead has not run since the backup.
 */
async function settleTime(
  server: Server,
  { migrations }: Manifest,
): Promise<{ revokedExposures: number; pausedSchedules: number }> {
  // A restored host has another machine id. It would be refused as a copied disk, as long as the connection
  // that it had during the backup counts as open.
  await runSql(server, "UPDATE instances SET machine_id = NULL WHERE machine_id IS NOT NULL");
  const has = (part: string) => migrations.some((name) => name.includes(part));
  // A sign-in or invitation of the backup may have ended since: the person signed out or changed the password, the role
  // was changed, or the invitation was accepted.
  if (has("sign-in")) {
    await runSql(server, "UPDATE sign_in.sign_ins SET ended_at = now() WHERE ended_at IS NULL");
    await runSql(
      server,
      "UPDATE invitations SET revoked_at = now() WHERE accepted_at IS NULL AND revoked_at IS NULL",
    );
  }
  if (has("device-sign-in")) {
    for (const table of ["device_logins", "links", "device_sign_ins"]) {
      await runSql(server, `DELETE FROM sign_in.${table}`);
    }
  }
  const count = async (sql: string) =>
    Number(
      (
        await runSql(server, `WITH changed AS (${sql} RETURNING 1) SELECT count(*) FROM changed`)
      )[0],
    );
  return {
    revokedExposures: has("exposures")
      ? await count(
          "UPDATE exposures SET revoked_at = now() WHERE revoked_at IS NULL AND expires_at > now()",
        )
      : 0,
    pausedSchedules: has("schedules")
      ? await count(
          `UPDATE schedules SET enabled = false, next_run_at = NULL,
                  pause_reason = 'A backup was restored, and the schedule may have run since that backup. Resume it to continue.'
            WHERE next_run_at <= now()`,
        )
      : 0,
  };
}

function asideOf(data: string): string {
  const time = new Date().toISOString().replaceAll(/[-:]/g, "").replace(/\.\d+/, "");
  const name = `${data}.before-restore-${time}`;
  for (let number = 2, path = name; ; path = `${name}-${number++}`) {
    if (!existsSync(path)) return path;
  }
}

async function putInPlace(data: string, next: string, movedTo: string | undefined): Promise<void> {
  try {
    if (movedTo) renameSync(data, movedTo);
    else if (existsSync(data)) {
      rmSync(join(data, "lock"), { force: true });
      rmdirSync(data);
    }
    renameSync(next, data);
  } catch (error) {
    if (movedTo && existsSync(movedTo) && !existsSync(data)) renameSync(movedTo, data);
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EBUSY", "EXDEV"].includes(code)) throw error;
    throw new CommandFailed(
      `${data} cannot be renamed, because it is the root of a disk of its own (${code}). Name a directory in it with --data. Nothing was changed.`,
    );
  }
  await flushDirectory(dirname(data));
}

/** What the user has to know afterwards. */
export function describeRestored(data: string, restored: Restored): string[] {
  const { manifest, movedTo, revokedExposures, pausedSchedules } = restored;
  return [
    `Restored ${data} as it was at ${manifest.createdAt}. Start it with: ${commandFor(data, "up")}`,
    ...(movedTo ? [describeCarrying(data, movedTo)] : []),
    ...(revokedExposures > 0
      ? [
          `Revoked: ${revokedExposures} exposures, because they may have been revoked since the backup.`,
        ]
      : []),
    ...(pausedSchedules > 0
      ? [
          `Paused: ${pausedSchedules} schedules that may have run since the backup. Resume them with resume_schedule.`,
        ]
      : []),
    "People sign in again, and open invitations are withdrawn. Passwords are as they were then.",
    "API keys and members are as they were then: revoke again what was revoked since. Hosts that were paired since must be paired again.",
  ];
}
