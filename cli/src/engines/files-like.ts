// Files found by a pattern. The directory is no part of the pattern, because its name may contain * or [.
import { globSync } from "node:fs";
import { join } from "node:path";

/** Full paths. Works although the current directory was removed. */
export const filesLike = (directory: string, ...patterns: string[]): string[] =>
  globSync(patterns, { cwd: directory }).map((file) => join(directory, file));
