// What of this machine's host is in a backup: its identity, what its owner allows, and its journal. Programs,
// logs and temporary files are made again. The files of sessions are as large as the projects and belong to
// the machine, so they are left out too.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { CommandFailed } from "../command-failed.ts";

/** Files that are copied as they are, if they exist. The daemon replaces them as a whole. */
export const hostFiles = ["credentials.json", "policy", "sealing-key.json", "updates.json"];

/** Where sessions work, and what agents keep: not in a backup, and used again on the same machine. */
export const sessionDirectories = [
  "worktrees",
  "checkouts",
  "parked",
  "baselines",
  "trusted",
  "attachments",
  "homes",
  "agents",
  "bin",
  "daemon",
  "node",
];

/** The journals of a host, as file names. Each belongs to one instance. */
export function listJournals(host: string): string[] {
  if (!existsSync(host)) return [];
  return readdirSync(host).filter((name) => /^journal-\w+\.sqlite$/.test(name));
}

/** Full texts of long entries that the control plane does not have, as paths below the host's directory. */
export function listBlobs(host: string, journal: string): string[] {
  const folder = journal.replace(/\.sqlite$/, ".blobs");
  if (!existsSync(join(host, folder))) return [];
  return readdirSync(join(host, folder))
    .filter((name) => /^[0-9a-f]{64}$/.test(name))
    .map((name) => `${folder}/${name}`);
}

const attempts = 20;

/**
 * Writes a consistent copy of a journal to `to`, also while its daemon runs.
 *
 * The daemon holds an exclusive lock, so SQLite cannot read the journal from here. Its two files are copied
 * instead: the database, which changes only at a checkpoint, and the log of changes after it. The copy is
 * consistent if no checkpoint happened meanwhile, that is, if the database still has the same bytes and the
 * log still has the same beginning. A record at the end of the log that was copied in part is ignored by
 * SQLite, as after a power cut.
 */
export async function copyJournal(journal: string, to: string, scratch: string): Promise<void> {
  const place = mkdtempSync(join(scratch, ".journal-"));
  try {
    const copy = join(place, "journal.sqlite");
    for (let attempt = 1; !(await isCopiedAtOnce(journal, copy)); attempt++) {
      if (attempt === attempts) {
        throw new CommandFailed(
          `The journal ${journal} changed during each of ${attempts} attempts to copy it. Stop the service with "hawser down" and make the backup again.`,
        );
      }
      await wait(50 * attempt);
    }
    const database = new DatabaseSync(copy);
    try {
      const { integrity_check: verdict } = database.prepare("PRAGMA integrity_check").get() as {
        integrity_check: string;
      };
      if (verdict !== "ok")
        throw new CommandFailed(`The journal ${journal} is damaged: ${verdict}.`);
      rmSync(to, { force: true });
      database.prepare("VACUUM INTO ?").run(to);
    } finally {
      database.close();
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function isCopiedAtOnce(journal: string, copy: string): Promise<boolean> {
  const log = `${journal}-wal`;
  const before = await logStart(log);
  rmSync(`${copy}-wal`, { force: true });
  copyFileSync(journal, copy);
  if (existsSync(log)) copyFileSync(log, `${copy}-wal`);
  const isSame = (await hashOf(journal)) === (await hashOf(copy));
  return isSame && before === (await logStart(log));
}

/** The header of the log, which contains new random numbers after each checkpoint that emptied it. */
async function logStart(log: string): Promise<string> {
  if (!existsSync(log)) return "none";
  const file = await open(log, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(32), 0, 32, 0);
    return buffer.subarray(0, bytesRead).toString("hex");
  } finally {
    await file.close();
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const part of createReadStream(file)) hash.update(part as Buffer);
  return hash.digest("hex");
}

/** undefined if the host is not paired. */
export function pairedInstance(host: string): string | undefined {
  const file = join(host, "credentials.json");
  if (!existsSync(file)) return undefined;
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as { instanceId?: string }).instanceId;
  } catch {
    return undefined;
  }
}
