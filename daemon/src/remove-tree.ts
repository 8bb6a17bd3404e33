// Removes a tree that an agent worked in. Some tools make directories read-only, such as a cache of
// modules; those are made writable first. A tree may be deeper than the longest path that the system
// takes: Node cannot remove it, but the system's programs can.
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { chmod, lstat, opendir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

export async function removeTree(path: string): Promise<void> {
  const remove = () => rm(path, { recursive: true, force: true });
  try {
    await remove().catch(async (error: unknown) => {
      if (!isClosed(error)) throw error;
      await open(path);
      await remove();
    });
  } catch (error) {
    if (!isTooDeep(error)) throw error;
    await promisify(execFile)("sh", ofDeep(path));
  }
}

/** The same for small trees, where nothing may happen before the tree is gone. */
export function removeTreeNow(path: string): void {
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  try {
    try {
      remove();
    } catch (error) {
      if (!isClosed(error)) throw error;
      openNow(path);
      remove();
    }
  } catch (error) {
    if (!isTooDeep(error)) throw error;
    execFileSync("sh", ofDeep(path), { stdio: "pipe" });
  }
}

/** Follows no link, and opens directories only: a file may be linked from elsewhere. */
const script = 'find "$1" -type d ! -perm -u=rwx -execdir chmod u+rwx {} \\;; rm -rf -- "$1"';
const ofDeep = (path: string) => ["-c", script, "sh", path];

const isTooDeep = (error: unknown) => (error as NodeJS.ErrnoException).code === "ENAMETOOLONG";

function isClosed(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EACCES" || code === "EPERM";
}

/** Does not follow links, which lead to other people's files. */
async function open(directory: string): Promise<void> {
  if (!(await lstat(directory)).isDirectory()) return;
  await chmod(directory, 0o700);
  for await (const entry of await opendir(directory)) {
    if (entry.isDirectory()) await open(join(directory, entry.name));
  }
}

/** Does not follow links either. */
function openNow(directory: string): void {
  if (!lstatSync(directory).isDirectory()) return;
  chmodSync(directory, 0o700);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) openNow(join(directory, entry.name));
  }
}
