// Finds files of a repository by name, where an agent would look for its configuration.
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/**
 * Searches the directory and its parents up to the top of the repository. Returned paths are relative to
 * the directory, so those of parents begin with `..`.
 */
export function findInRepository(directory: string, matches: (name: string) => boolean): string[] {
  const found: string[] = [];
  let folder = directory;
  for (;;) {
    for (const name of namesIn(folder)) {
      if (matches(name)) found.push(relative(directory, join(folder, name)));
    }
    const parent = dirname(folder);
    if (existsSync(join(folder, ".git")) || parent === folder) return found.sort();
    folder = parent;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
