// Resolves the links in a path as the kernel does.
import { readlinkSync } from "node:fs";
import { dirname, isAbsolute, join, sep } from "node:path";

/** As the kernel: a loop of links is an error. */
const mostLinks = 40;
/** More steps take long to follow, and no ordinary path has them. */
const mostSteps = 400;

/**
 * Follows the links of an absolute path step by step: `..` after a link is the parent of the link's target.
 * Node's own realpath removes `..` first. Also follows links to something that does not exist. A loop of
 * links, and a path of too many steps, lead to the root.
 */
export function realOf(path: string): string {
  return follow(sep, path, { links: 0, steps: 0 }) ?? sep;
}

/** undefined if it leads nowhere. */
function follow(
  start: string,
  path: string,
  seen: { links: number; steps: number },
): string | undefined {
  let at = isAbsolute(path) ? sep : start;
  for (const step of path.split(sep)) {
    if (step === "" || step === ".") continue;
    if (++seen.steps > mostSteps) return undefined;
    if (step === "..") {
      at = dirname(at);
      continue;
    }
    const next = join(at, step);
    const target = linkAt(next);
    if (target === undefined) {
      at = next;
    } else {
      if (++seen.links > mostLinks) return undefined;
      const followed = follow(at, target, seen);
      if (followed === undefined) return undefined;
      at = followed;
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
