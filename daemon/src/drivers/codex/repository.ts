// Where the parts of a git repository lie around a directory. Read from its files: no git is started in
// a place that nobody has looked at.
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

export interface Repository {
  /** The top of the checkout. */
  top: string;
  /** What belongs to this checkout alone, such as its index. */
  own: string;
  /** What all checkouts share. */
  common: string;
}

export function findRepository(directory: string): Repository | undefined {
  let top = resolved(directory);
  while (!existsSync(join(top, ".git"))) {
    const parent = dirname(top);
    if (parent === top) return undefined;
    top = parent;
  }
  const entry = join(top, ".git");
  if (statSync(entry).isDirectory()) return { top, own: entry, common: entry };
  const named = /^gitdir: (.+)$/m.exec(read(entry) ?? "")?.[1];
  if (named === undefined) return undefined;
  const own = resolved(resolve(top, named.trim()));
  const shared = read(join(own, "commondir"))?.trim();
  return { top, own, common: shared ? resolved(resolve(own, shared)) : own };
}

/** Without links, as far as it exists. */
export function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(resolved(parent), path.slice(parent.length));
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
