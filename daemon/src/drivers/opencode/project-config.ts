// A repository's own configuration of opencode. It holds plugins and commands that opencode would run
// unasked, and no switch of it keeps plugins out for good, so such files must not be there at all.
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const isConfig = (name: string) => name === ".opencode" || /^opencode\.jsonc?$/.test(name);

/** Everything but those, wherever they are in the tree. */
export const sparsePatterns = ["/*", "!.opencode", "!opencode.json", "!opencode.jsonc"] as const;

/**
 * opencode looks in the directory and in each one above it up to the top of the repository. Paths are
 * relative to the directory, so those above it begin with `..`.
 */
export function findProjectConfig(directory: string): string[] {
  const found: string[] = [];
  let folder = directory;
  for (;;) {
    for (const name of namesIn(folder)) {
      if (isConfig(name)) found.push(relative(directory, join(folder, name)));
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
