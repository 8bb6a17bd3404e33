// The data directory of `hawser up`: made, or checked, before anything is written into it.
import { chmodSync, mkdirSync, readdirSync, statSync, statfsSync, type Stats } from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "../command-failed.ts";

/** What Hawser puts there. A directory with other files and without a lock is somebody's own. */
const known = new Set(
  "settings.json login.json lock master-key bootstrap-key postgres run fabric releases log engines host backups cache node status.json owner-password node-password restore-unfinished.json".split(
    " ",
  ),
);

/** A new cluster needs 43 MB, and the host's Node 121 MB. */
const firstStartBytes = 250 * 1024 * 1024;
const fullBytes = 16 * 1024 * 1024;

/** Throws CommandFailed if this process is root: PostgreSQL refuses to run as root. */
export function refuseRoot(uid = process.getuid?.()): void {
  if (uid !== 0) return;
  throw new CommandFailed(
    "PostgreSQL does not run as root, and agents should not. Run hawser up as another user. To make one: useradd --create-home --shell /bin/bash hawser; su - hawser",
  );
}

/** Throws CommandFailed if the directory cannot be used. */
export function openDataDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    refuseForeign(directory, statSync(directory));
    chmodSync(directory, 0o700);
    for (const name of ["log", "run"]) {
      mkdirSync(join(directory, name), { recursive: true, mode: 0o700 });
    }
  } catch (error) {
    throw explainFiles(error, directory);
  }
}

function refuseForeign(directory: string, { uid }: Stats): void {
  if (process.getuid && uid !== process.getuid()) {
    throw new CommandFailed(
      `The directory ${directory} belongs to another user. Run hawser as that user, or choose another directory with --data.`,
    );
  }
  const names = readdirSync(directory);
  const strange = names.find(
    (name) => !known.has(name.replace(/\.next(?:-\d+)?$/, "")) && !/^postgres\.\d+-/.test(name),
  );
  if (strange === undefined || names.includes("lock")) return;
  throw new CommandFailed(
    `The directory ${directory} contains files that are not Hawser's, such as ${strange}. Choose an empty directory with --data.`,
  );
}

/** Throws CommandFailed if a first start would fill the disk. */
export function refuseFullDisk(directory: string, isFirst: boolean): void {
  const free = freeBytes(directory);
  if (free === undefined || free > (isFirst ? firstStartBytes : fullBytes)) return;
  const needed = isFirst ? `, and a first start needs ${megabytes(firstStartBytes)}` : "";
  throw new CommandFailed(
    `The disk of ${directory} has only ${megabytes(free)} free${needed}. Make room, or choose a directory on another disk with --data.`,
  );
}

export function isDiskFull(directory: string): boolean {
  const free = freeBytes(directory);
  return free !== undefined && free < fullBytes;
}

function freeBytes(directory: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

const megabytes = (bytes: number) => `${Math.floor(bytes / 1024 / 1024)} MB`;

/** Turns an error of a file operation into a sentence. Other errors are returned as they are. */
export function explainFiles(error: unknown, directory: string): unknown {
  const { code, path, message } = error as NodeJS.ErrnoException;
  const place = path ?? directory;
  if (code === "ENOSPC" || code === "EDQUOT" || /No space left on device/.test(message)) {
    return new CommandFailed(
      `The disk of ${directory} is full. Make room, then run hawser up again. Nothing that was stored is lost.`,
    );
  }
  if (code === "EROFS" || code === "EACCES" || code === "EPERM") {
    return new CommandFailed(
      `${place} cannot be written (${code}). Check its owner, its mode and that its disk is not read-only, or choose another directory with --data.`,
    );
  }
  if (code === "ENOTDIR" || code === "EEXIST") {
    return new CommandFailed(`${place} is not a directory. Choose another one with --data.`);
  }
  // SQLite, which is the lock, has codes of its own: cantopen, readonly, ioerr.
  const { errcode } = error as { errcode?: number };
  if (errcode !== undefined && [8, 10, 13, 14].includes(errcode & 0xff)) {
    return new CommandFailed(
      `${join(directory, "lock")} cannot be written: ${message}. Check the owner of the directory and that its disk is neither full nor read-only.`,
    );
  }
  return error;
}
