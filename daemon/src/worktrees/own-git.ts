// Checks that a session's tree still has its own git directory. The file or directory `.git` lies where
// the agent works, and the agent may change it. A link there, or another path in the file, would make git
// work in another repository of the host: we would move its branches and push its commits.
import { lstatSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { readSmallFile } from "../directories/handle.ts";
import { isDirectory } from "./park.ts";
import type { OwnTree } from "./snapshots.ts";

/** What is wrong with the tree's git directory; undefined if nothing is. Does not follow links. */
export function objectToGitOf(tree: OwnTree): string | undefined {
  const isClone = tree.repository === tree.directory;
  if (isClone ? isWhole(tree.directory) : leadsTo(tree)) return undefined;
  const what = isClone
    ? "The session's clone no longer has a git directory of its own, or that directory uses another one."
    : "The session's worktree no longer leads to the git directory that it was made with.";
  return `${what} Put that right on the host, or start another session.`;
}

function isWhole(clone: string): boolean {
  const own = join(clone, ".git");
  const parts = [clone, own, join(own, "objects"), join(own, "refs")];
  return parts.every(isDirectory) && !hasLinks(own) && !leadsElsewhere(own);
}

/**
 * The file `commondir` names the repository of a worktree; `alternates` names other directories with
 * objects. Neither belongs in a clone of ours. Nor do settings that make git fetch missing objects later:
 * any git command would then call an address that the agent chose.
 */
function leadsElsewhere(own: string): boolean {
  const isThere = (name: string) =>
    lstatSync(join(own, name), { throwIfNoEntry: false }) !== undefined;
  const fetchesLater = (name: string) =>
    isThere(name) &&
    /promisor|partialclone/i.test(readSmallFile(join(own, name), 1e6) ?? "promisor");
  const settings = ["config", "config.worktree"];
  return ["commondir", "objects/info/alternates"].some(isThere) || settings.some(fetchesLater);
}

/** Files and directories of git's that git itself never makes links, and through which it would write. */
const neverLinks = ["HEAD", "config", "config.worktree", "index", "info", "logs", "packed-refs"];

const hasLinks = (own: string) =>
  ["logs/HEAD", "info/sparse-checkout", ...neverLinks].some((name) =>
    lstatSync(join(own, name), { throwIfNoEntry: false })?.isSymbolicLink(),
  );

function leadsTo({ directory, adminDirectory }: OwnTree): boolean {
  try {
    if (hasLinks(adminDirectory)) return false;
    return realpathSync(adminDirectoryOf(directory)) === realpathSync(adminDirectory);
  } catch {
    return false;
  }
}

const longestPointer = 8 * 1024;

/** Git's directory for a worktree, as the worktree's file `.git` names it. Throws if that names none. */
export function adminDirectoryOf(worktree: string): string {
  const text = isDirectory(worktree) ? readSmallFile(join(worktree, ".git"), longestPointer) : "";
  const found = /^gitdir: (.+)$/m.exec(text ?? "")?.[1];
  if (found === undefined) {
    throw new Error(`The worktree ${worktree} does not name its repository.`);
  }
  return found;
}
