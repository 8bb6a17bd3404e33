// Where the parts of a git repository lie around a directory. Read from its files: no git is started in
// a place that nobody has looked at.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { realOf } from "../real-path.ts";

export interface Repository {
  /** The top of the checkout. */
  top: string;
  /** What belongs to this checkout alone, such as its index. */
  own: string;
  /** What all checkouts share. */
  common: string;
}

export function findRepository(directory: string): Repository | undefined {
  let top = realOf(directory);
  while (!existsSync(join(top, ".git"))) {
    const parent = dirname(top);
    if (parent === top) return undefined;
    top = parent;
  }
  const entry = join(top, ".git");
  if (statSync(entry).isDirectory()) return { top, own: entry, common: entry };
  const named = /^gitdir: (.+)$/m.exec(read(entry) ?? "")?.[1];
  if (named === undefined) return undefined;
  const own = realOf(resolve(top, named.trim()));
  const shared = read(join(own, "commondir"))?.trim();
  return { top, own, common: shared ? realOf(resolve(own, shared)) : own };
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
