// Resolves the links in a path.
import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";

/** Follows links as far as the path exists; also follows links to something that does not exist. */
export function realOf(path: string, steps = 0): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    if (parent === path || steps > 40) return sep;
    const target = linkAt(path);
    if (target === undefined) return join(realOf(parent, steps + 1), basename(path));
    return realOf(resolve(parent, target), steps + 1);
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
