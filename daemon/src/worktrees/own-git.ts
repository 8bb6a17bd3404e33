// Whether a clone's git directory is still its own. It lies where the session's agent works, who may
// change it without being asked: a link, or a word in a file, would have git work in another repository
// of the host's, whose branches we would move and whose commits we would push.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { isDirectory } from "./park.ts";

/** Says what is wrong with it. Links count as what they are. */
export function objectToGitOf(checkout: string): string | undefined {
  const own = join(checkout, ".git");
  const parts = [checkout, own, join(own, "objects"), join(own, "refs")];
  if (parts.every(isDirectory) && !isPartOfAnother(own)) return undefined;
  return (
    "The session's clone has no git directory of its own any more, or one that leads to another " +
    "repository. Put that right on the host, or start another session."
  );
}

/** Only git directories of worktrees have this file, which names their repository's. */
const isPartOfAnother = (own: string) =>
  lstatSync(join(own, "commondir"), { throwIfNoEntry: false }) !== undefined;
