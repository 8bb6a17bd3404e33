// Finds git repositories below a directory, for the question which of them agents may work in. The search is
// bounded, because the directory may be a home with millions of files.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

export interface SearchLimits {
  repositories: number;
  depth: number;
  directories: number;
  ms: number;
}

const usual: SearchLimits = { repositories: 50, depth: 4, directories: 5_000, ms: 1_500 };

/** Nearest first. Does not look into repositories, hidden directories and node_modules. */
export function findRepositories(from: string, limits: SearchLimits = usual): string[] {
  const found: string[] = [];
  const deadline = Date.now() + limits.ms;
  let level = [from];
  let seen = 0;
  for (let depth = 0; depth <= limits.depth && level.length > 0; depth++) {
    let next: string[] = [];
    for (const directory of level) {
      if (found.length >= limits.repositories) return found;
      if (++seen > limits.directories || Date.now() > deadline) return found;
      if (existsSync(join(directory, ".git"))) found.push(directory);
      else if (next.length < limits.directories) next = next.concat(subdirectories(directory));
    }
    level = next;
  }
  return found;
}

function subdirectories(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !/^\.|^node_modules$/.test(entry.name))
      .map(({ name }) => join(directory, name))
      .toSorted();
  } catch {
    return [];
  }
}
