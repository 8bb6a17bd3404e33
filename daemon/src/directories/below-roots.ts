// The rule for every path that a caller sends: it is resolved, and must be a root of the policy or lie in
// one. For all other paths the answer is the same, whether they exist or not.
import { realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { openDirectory, type DirectoryHandle } from "./handle.ts";

/** A root that exists. */
export interface Root {
  /** As the owner wrote it. */
  path: string;
  /** Without links. */
  realPath: string;
}

/** An open directory in a root, or the root itself. */
export interface PlaceBelowRoot extends Disposable {
  root: Root;
  handle: DirectoryHandle;
  /** The path as callers see it: the root as its owner wrote it, then without links. */
  path: string;
}

const longestPath = 4096;

/** The roots that exist, in the owner's order. */
export async function findRoots(written: readonly string[]): Promise<Root[]> {
  const found = await Promise.all(
    written.map(async (path) => {
      const realPath = await realpath(path).catch(() => undefined);
      return realPath === undefined ? [] : [{ path, realPath }];
    }),
  );
  return found.flat();
}

/** undefined if the path leads out of every root, does not exist, or is no directory. */
export async function openBelowRoots(
  roots: readonly Root[],
  path: string,
): Promise<PlaceBelowRoot | undefined> {
  if (path.includes("\0") || Buffer.byteLength(path) >= longestPath) return undefined;
  const real = await realpath(path).catch(() => undefined);
  // Checked before it is opened: opening a device or a directory elsewhere can have effects.
  if (real === undefined || !rootOf(roots, real)) return undefined;
  const handle = openDirectory(real);
  if (!handle) return undefined;
  // Checks what is open now: a link may have been put into the path in between.
  const root = rootOf(roots, handle.realPath);
  if (!root || isInGitDirectory(root, handle.realPath)) {
    handle[Symbol.dispose]();
    return undefined;
  }
  const shown = join(root.path, relative(root.realPath, handle.realPath));
  return { root, handle, path: shown, [Symbol.dispose]: () => handle[Symbol.dispose]() };
}

/** The innermost root that contains a path. */
export function rootOf(roots: readonly Root[], realPath: string): Root | undefined {
  return roots
    .filter((root) => contains(root.realPath, realPath))
    .sort((one, other) => other.realPath.length - one.realPath.length)[0];
}

/** Compares whole names: /srv/code-old is not in /srv/code. */
function contains(root: string, realPath: string): boolean {
  return realPath === root || realPath.startsWith(root.endsWith("/") ? root : `${root}/`);
}

function isInGitDirectory(root: Root, realPath: string): boolean {
  return relative(root.realPath, realPath).split("/").includes(".git");
}
