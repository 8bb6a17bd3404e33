// Programs that are installed on this machine, and their versions.
import { execFile } from "node:child_process";
import { delimiter } from "node:path";
import { promisify } from "node:util";

const longestMs = 10_000;

/** The directories of PATH, and those of servers and of Homebrew, which PATH often lacks. */
export function programDirectories(): string[] {
  const fromPath = (process.env["PATH"] ?? "").split(delimiter);
  const usual = ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"];
  return [...new Set([...fromPath, ...usual])].filter((directory) => directory.startsWith("/"));
}

/** The numbers in the answer to --version; undefined if the program does not run. */
export async function versionOf(program: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(program, ["--version"], { timeout: longestMs });
    return /\d+(?:\.\d+)*/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}

export function isAtLeast(version: string, floor: string): boolean {
  const [left, right] = [version, floor].map((text) => text.split(".").map(Number));
  for (const [index, wanted] of right!.entries()) {
    const difference = (left![index] ?? 0) - wanted;
    if (difference !== 0) return difference > 0;
  }
  return true;
}
