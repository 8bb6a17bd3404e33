// Finds the parts of the git repository around a directory. Reads its files: git is not started in a
// directory that was not checked.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
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
  if (statSync(entry).isDirectory()) return { top, own: entry, common: commonOf(entry) };
  const named = /^gitdir: (.+)$/m.exec(read(entry) ?? "")?.[1];
  if (named === undefined) return undefined;
  const own = realOf(pathFrom(top, named.trim()));
  return { top, own, common: commonOf(own) };
}

/** Git obeys a file `commondir` in any of its directories, also in the only one of a checkout. */
export function commonOf(own: string): string {
  const shared = read(join(own, "commondir"))?.replace(/[\r\n]+$/, "");
  return shared ? realOf(pathFrom(own, shared)) : own;
}

const pathFrom = (directory: string, path: string) =>
  isAbsolute(path) ? path : `${directory}/${path}`;

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
