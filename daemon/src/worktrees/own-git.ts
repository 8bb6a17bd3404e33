// Whether a session's tree still has its own git directory. What ties them lies where the agent works,
// who may change it without being asked: a link, or a word in a file, would have git work in another
// repository of the host's, whose branches we would move and whose commits we would push.
import { lstatSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { readSmallFile } from "../directories/handle.ts";
import { isDirectory } from "./park.ts";
import type { OwnTree } from "./snapshots.ts";

/** Says what is wrong with it. Links count as what they are. */
export function objectToGitOf(tree: OwnTree): string | undefined {
  const isClone = tree.repository === tree.directory;
  if (isClone ? isWhole(tree.directory) : leadsTo(tree)) return undefined;
  const what = isClone
    ? "The session's clone has no git directory of its own any more, or one that leads elsewhere."
    : "The session's worktree does not lead to the git directory it was made with any more.";
  return `${what} Put that right on the host, or start another session.`;
}

function isWhole(clone: string): boolean {
  const own = join(clone, ".git");
  const parts = [clone, own, join(own, "objects"), join(own, "refs")];
  return parts.every(isDirectory) && !leadsElsewhere(own);
}

/**
 * The first file is one of worktrees' git directories and names their repository's, the second names other
 * places with objects. We make no clones whose objects are fetched when they are needed: that would have
 * git call an address of the agent's choice at any look.
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

function leadsTo({ directory, adminDirectory }: OwnTree): boolean {
  try {
    return realpathSync(adminDirectoryOf(directory)) === realpathSync(adminDirectory);
  } catch {
    return false;
  }
}

const longestPointer = 8 * 1024;

/** What git keeps about a worktree, as the file `.git` in it says. Throws. */
export function adminDirectoryOf(worktree: string): string {
  const text = isDirectory(worktree) ? readSmallFile(join(worktree, ".git"), longestPointer) : "";
  const found = /^gitdir: (.+)$/m.exec(text ?? "")?.[1];
  if (found === undefined) {
    throw new Error(`The worktree ${worktree} does not name its repository.`);
  }
  return found;
}
