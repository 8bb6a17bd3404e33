// Finds the parts of the git repository around a directory. Reads its files: git is not started in a
// directory that was not checked.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { realOf } from "../real-path.ts";

export interface Repository {
  /** The top of the checkout. */
  top: string;
  /** Git's directory for this checkout alone, for example with its index. */
  own: string;
  /** Git's directory that all checkouts share. */
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
