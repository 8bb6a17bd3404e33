// Bare git repositories of a server, in one directory, named owner/name.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRepository } from "./git-repository.ts";

export interface BareOptions {
  /** Adds a file of this many random bytes, which do not compress. */
  bytes?: number;
  /** Creates the repository without a commit. */
  empty?: boolean;
}

/** Makes `<directory>/<name>.git` with one commit on main, and returns its path. */
export function createBareRepository(
  directory: string,
  name: string,
  { bytes = 0, empty = false }: BareOptions = {},
): string {
  const path = join(directory, `${name}.git`);
  mkdirSync(path, { recursive: true });
  const git = (...args: string[]) => execFileSync("git", args, { stdio: "ignore" });
  git("init", "--quiet", "--bare", "--initial-branch=main", path);
  if (empty) return path;
  const work = mkdtempSync(join(tmpdir(), "hawser-bare-"));
  try {
    const source = createRepository(work);
    if (bytes > 0) {
      writeFileSync(join(source, "noise"), randomBytes(bytes));
      git("-C", source, "add", ".");
      git("-C", source, "commit", "--quiet", "--message=noise");
    }
    git("-C", source, "push", "--quiet", path, "main");
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return path;
}
