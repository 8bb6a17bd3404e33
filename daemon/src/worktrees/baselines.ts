// Baselines: what a directory without a commit contained when its session began, so that the session's
// diff has something to compare with. A baseline is a git directory of the daemon's, with the session's
// directory as its working tree. Nothing is written to the user's directory, and no filter runs: the
// baseline has the bytes on disk. It costs a copy of the files, so its size and time are limited.
// See docs/decisions/0055-a-plain-directory-has-a-baseline.md.
import { mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { GitError, type Git } from "../git/git.ts";
import { removeOthers } from "./remove-others.ts";
import { gather, writeTree, type OwnIndex } from "./working-tree.ts";

export interface Baselines {
  /**
   * Copies the files of a directory. Returns the tree's id. Throws GitError, and leaves nothing behind, if
   * they are too many, too large or take too long.
   */
  make(sessionId: string, directory: string, signal: AbortSignal): Promise<string>;
  /** Git's directory of a session's baseline. */
  gitDirectoryOf(sessionId: string): string;
  /** Removes the baselines of all other sessions. */
  tidy(isUsed: (sessionId: string) => boolean): Promise<void>;
}

/** A start waits for the copy. */
const makeMs = 5_000;
const mostFiles = 5_000;
const mostBytes = 64 * 1024 * 1024;

/** `closedPaths`: absolute paths that are never copied. */
export function createBaselines(
  git: Git,
  top: string,
  closedPaths: readonly string[] = [],
): Baselines {
  const gitDirectoryOf = (sessionId: string) => join(top, sessionId);

  return {
    gitDirectoryOf,

    async make(sessionId, directory, signal) {
      const own = gitDirectoryOf(sessionId);
      try {
        layOut(own);
        const index: OwnIndex = {
          git,
          directory,
          file: join(own, "index"),
          environment: baselineEnvironment(own, directory),
          deadlineMs: makeMs,
          limitBytes: mostBytes,
          limitFiles: mostFiles,
          closedPaths,
          signal: AbortSignal.any([signal, AbortSignal.timeout(makeMs)]),
        };
        await gather(index);
        return await writeTree(index);
      } catch (error) {
        await rm(own, { recursive: true, force: true });
        const isLate = error instanceof GitError && error.reason === "out_of_time";
        // A caller whose own time is up gets git's error, because these seconds are not the cause.
        if (!isLate || signal.aborted) throw error;
        const message = `Copying the files took longer than ${makeMs / 1_000} seconds.`;
        throw new GitError("out_of_time", message);
      }
    },

    tidy: (isUsed) => removeOthers(top, isUsed),
  };
}

/** Makes git work in the directory with the baseline as its repository, also if an agent made one there. */
export const baselineEnvironment = (gitDirectory: string, directory: string) => ({
  GIT_DIR: gitDirectory,
  GIT_WORK_TREE: directory,
});

/** The files that git needs to accept a directory as its own; `git init` would copy the user's templates. */
function layOut(own: string): void {
  for (const name of ["objects", "refs", "info"]) {
    mkdirSync(join(own, name), { recursive: true, mode: 0o700 });
  }
  writeFileSync(join(own, "HEAD"), "ref: refs/heads/none\n");
  writeFileSync(join(own, "config"), "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n");
  // Wins over the directory's own .gitattributes.
  const attributes = "* -filter -text -ident !working-tree-encoding\n";
  writeFileSync(join(own, "info", "attributes"), attributes);
}
