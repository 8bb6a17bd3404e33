// Resolves the links in a path as the kernel does.
import { lstatSync, readlinkSync } from "node:fs";
import { basename, dirname, isAbsolute, sep } from "node:path";

/** As the kernel: a loop of links is an error. */
const mostLinks = 40;
/** In bytes. No file system here has a longer name. */
const longestName = 255;
/** More steps take long to follow, and no ordinary path has them. */
const mostSteps = 400;

/** What one decision looks at, so that each path is looked at once. */
interface Known {
  reals: Map<string, string>;
  looks: Map<string, Look>;
}
/** How many paths one decision looks at. All further ones lead to the root. */
const mostLooks = 8_000;
let known: Known | undefined;

/** Runs a function that takes only a moment, and looks at each path only once meanwhile. */
export function lookOnce<Result>(run: () => Result): Result {
  if (known) return run();
  known = { reals: new Map(), looks: new Map() };
  try {
    return run();
  } finally {
    known = undefined;
  }
}

/**
 * Follows the links of an absolute path step by step: `..` after a link is the parent of the link's target.
 * Node's own realpath removes `..` first. Also follows links to something that does not exist. A loop of
 * links, a path of too many steps and a path that is too long to be looked at lead to the root.
 */
export function realOf(path: string): string {
  const former = known?.reals.get(path);
  if (former !== undefined) return former;
  const real = follow(sep, path, { links: 0, steps: 0 }) ?? sep;
  known?.reals.set(path, real);
  return real;
}

/** undefined if it leads nowhere. */
function follow(
  start: string,
  path: string,
  seen: { links: number; steps: number },
): string | undefined {
  let at = isAbsolute(path) ? sep : start;
  /** The first step that does not exist: nothing below it exists, so nothing there needs a look. */
  let missing: string | undefined;
  for (const step of path.split(sep)) {
    if (step === "" || step === ".") continue;
    if (++seen.steps > mostSteps) return undefined;
    if (step === "..") {
      at = dirname(at);
      if (missing !== undefined && at.length < missing.length) missing = undefined;
      continue;
    }
    const next = at === sep ? sep + step : at + sep + step;
    const found = missing === undefined ? lookAtOnce(next) : "missing";
    if (found === undefined) return undefined;
    if (found === "missing") missing ??= next;
    if (typeof found === "string") {
      at = next;
    } else {
      if (++seen.links > mostLinks) return undefined;
      const followed = follow(at, found.target, seen);
      if (followed === undefined) return undefined;
      at = followed;
    }
  }
  return at;
}

/** undefined for a path that is too long, or too many. */
type Look = "missing" | "no link" | { target: string } | undefined;

function lookAtOnce(path: string): Look {
  if (!known) return lookAt(path);
  const { looks } = known;
  if (looks.has(path)) return looks.get(path);
  if (looks.size >= mostLooks) return undefined;
  const look = lookAt(path);
  looks.set(path, look);
  return look;
}

/** undefined if the whole path is too long. The kernel may still open it relative to a directory. */
function lookAt(path: string): Look {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (!stats) return "missing";
    return stats.isSymbolicLink() ? { target: readlinkSync(path) } : "no link";
  } catch (error) {
    // Something that this user may not look at.
    if ((error as NodeJS.ErrnoException).code !== "ENAMETOOLONG") return "no link";
    return Buffer.byteLength(basename(path)) > longestName ? "missing" : undefined;
  }
}
