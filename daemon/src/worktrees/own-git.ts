// Whether a session's tree still has its own git directory. What ties them lies where the agent works,
// who may change it without being asked: a link, or a word in a file, would have git work in another
// repository of the host's, whose branches we would move and whose commits we would push.
import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isDirectory } from "./park.ts";
import type { OwnTree } from "./snapshots.ts";

/** Says what is wrong with it. Links count as what they are. */
export function objectToGitOf(tree: OwnTree): string | undefined {
  const isClone = tree.repository === tree.directory;
  if (isClone ? isWhole(tree.directory) : leadsTo(tree)) return undefined;
  const what = isClone
    ? "The session's clone has no git directory of its own any more, or one that leads to another repository."
    : "The session's worktree does not lead to the git directory it was made with any more.";
  return `${what} Put that right on the host, or start another session.`;
}

function isWhole(clone: string): boolean {
  const own = join(clone, ".git");
  const parts = [clone, own, join(own, "objects"), join(own, "refs")];
  return parts.every(isDirectory) && !isPartOfAnother(own);
}

/** Only git directories of worktrees have this file, which names their repository's. */
const isPartOfAnother = (own: string) =>
  lstatSync(join(own, "commondir"), { throwIfNoEntry: false }) !== undefined;

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
  const file = join(worktree, ".git");
  const facts = lstatSync(file);
  const isPointer = isDirectory(worktree) && facts.isFile() && facts.size <= longestPointer;
  const found = isPointer ? /^gitdir: (.+)$/m.exec(readFileSync(file, "utf8"))?.[1] : undefined;
  if (found === undefined) {
    throw new Error(`The worktree ${worktree} does not name its repository.`);
  }
  return found;
}
