// Resolves the links in a path as the kernel does.
import { readlinkSync } from "node:fs";
import { dirname, isAbsolute, join, sep } from "node:path";

/** As the kernel: a loop of links is an error. */
const mostLinks = 40;

/**
 * Follows the links of an absolute path step by step: `..` after a link is the parent of the link's target.
 * Node's own realpath removes `..` first. Also follows links to something that does not exist. A loop of
 * links leads to the root.
 */
export function realOf(path: string): string {
  const seen = { links: 0 };
  return follow(sep, path, seen);
}

function follow(start: string, path: string, seen: { links: number }): string {
  let at = isAbsolute(path) ? sep : start;
  for (const step of path.split(sep)) {
    if (step === "" || step === ".") continue;
    if (step === "..") {
      at = dirname(at);
      continue;
    }
    const next = join(at, step);
    const target = linkAt(next);
    if (target === undefined) {
      at = next;
    } else {
      if (++seen.links > mostLinks) return sep;
      at = follow(at, target, seen);
      if (seen.links > mostLinks) return sep;
    }
  }
  return at;
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
