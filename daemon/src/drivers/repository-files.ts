// Finds files of a repository by name, where an agent would look for its configuration.
import { lstatSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { readSmallFile } from "../directories/handle.ts";

/** The largest `.git` file or `HEAD` that is read. */
const mostBytes = 64 * 1024;

/**
 * Searches the directory and its parents up to the top of the repository for entries with these names. Each
 * name is tried, because an agent finds files in a directory that cannot be listed too. Returned paths are
 * relative to the directory, so those of parents begin with `..`.
 */
export function findInRepository(
  directory: string,
  names: readonly string[],
  matches: (name: string, path: string) => boolean = () => true,
): string[] {
  const found: string[] = [];
  let folder = directory;
  for (;;) {
    for (const name of names) {
      const path = join(folder, name);
      if (exists(path) && matches(name, path) && !isEmptyDirectory(path))
        found.push(relative(directory, path));
    }
    const parent = dirname(folder);
    if (isTop(folder) || parent === folder) return found.sort();
    folder = parent;
  }
}

/** Returns true for a broken link too. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Whether git sees the top of a repository here. Git ignores an entry `.git` that is no repository, and goes on
 * in the parent directory; so do agents that ask git.
 */
function isTop(folder: string): boolean {
  const entry = join(folder, ".git");
  try {
    if (statSync(entry).isFile())
      return readSmallFile(entry, mostBytes)?.startsWith("gitdir: ") === true;
    const head = readSmallFile(join(entry, "HEAD"), mostBytes);
    const hasHead = /^(?:ref: refs\/|[0-9a-f]{40})/.test(head ?? "");
    return (
      hasHead && ["objects", "refs"].every((name) => statSync(join(entry, name)).isDirectory())
    );
  } catch {
    return false;
  }
}

/** Contains no configuration. The sandbox of codex makes such directories (decision 0048). */
function isEmptyDirectory(path: string): boolean {
  try {
    return readdirSync(path).length === 0;
  } catch {
    return false;
  }
}
