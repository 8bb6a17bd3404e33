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
      const path = join(folder, name);
      if (matches(name) && !isEmptyDirectory(path)) found.push(relative(directory, path));
    }
    const parent = dirname(folder);
    if (existsSync(join(folder, ".git")) || parent === folder) return found.sort();
    folder = parent;
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

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
