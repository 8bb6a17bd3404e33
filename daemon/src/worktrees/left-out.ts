// Lists the files that a sparse checkout leaves out.
import type { Git } from "../git/git.ts";

const deadlineMs = 10_000;

/** Paths relative to the top of the working tree. */
export async function listLeftOut(
  git: Git,
  directory: string,
  signal: AbortSignal,
): Promise<string[]> {
  const listed = await git.runIn(directory, "ls-files", {
    options: ["-t", "-z"],
    deadlineMs,
    outputLimitBytes: 256 * 1024 * 1024,
    signal,
  });
  return listed
    .split("\0")
    .filter((line) => line.startsWith("S "))
    .map((line) => line.slice(2));
}
