// Removes a tree that an agent worked in. Some tools make directories read-only, such as a cache of
// modules; those are made writable first.
import { chmod, lstat, opendir, rm } from "node:fs/promises";
import { join } from "node:path";

export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EACCES" && code !== "EPERM") throw error;
    await open(path);
    await rm(path, { recursive: true, force: true });
  }
}

/** Does not follow links, which lead to other people's files. */
async function open(directory: string): Promise<void> {
  if (!(await lstat(directory)).isDirectory()) return;
  await chmod(directory, 0o700);
  for await (const entry of await opendir(directory)) {
    if (entry.isDirectory()) await open(join(directory, entry.name));
  }
}
