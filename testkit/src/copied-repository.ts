// Many equal git repositories: git makes the first one of this process, and the others are copies of it.
// Five calls of git take ten times as long as a copy, and some test files make hundreds of repositories.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface CopiedFile {
  path: string;
  mode: number;
  /** Undefined for a directory. */
  content: Buffer | undefined;
}

/** Returns a function that makes a repository in a directory, the first time by `make`. */
export function copiesOf(make: (directory: string) => void): (directory: string) => string {
  let first: CopiedFile[] | undefined;
  return (directory) => {
    mkdirSync(directory, { recursive: true });
    if (first) writeFiles(directory, first);
    else {
      make(directory);
      first = readFiles(directory);
    }
    return directory;
  };
}

/** Directories come before what is in them. */
function readFiles(directory: string): CopiedFile[] {
  const paths = readdirSync(directory, { recursive: true, encoding: "utf8" }).sort();
  return paths.map((path) => {
    const stats = statSync(join(directory, path));
    const content = stats.isDirectory() ? undefined : readFileSync(join(directory, path));
    return { path, mode: stats.mode & 0o777, content };
  });
}

function writeFiles(directory: string, files: CopiedFile[]): void {
  for (const { path, mode, content } of files) {
    if (content) writeFileSync(join(directory, path), content, { mode });
    else mkdirSync(join(directory, path), { mode });
  }
  // The copied index has the times and the inodes of the first repository's files.
  execFileSync("git", ["-C", directory, "update-index", "--refresh"], { stdio: "ignore" });
}
