// Where git has placed the worktree of a session.
import { execFileSync } from "node:child_process";
import type { TestHost } from "./host.ts";

/** The directory of a session that has its own branch. */
export function worktreeOf(host: Pick<TestHost, "repository">, branch: string): string {
  const args = ["-C", host.repository, "worktree", "list", "--porcelain"];
  const listed = execFileSync("git", args, { encoding: "utf8" }).split("\n\n");
  const entry = listed.find((text) => text.includes(`branch refs/heads/${branch}`));
  return /^worktree (.*)$/m.exec(entry!)![1]!;
}
