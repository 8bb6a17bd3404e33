// A small git repository with one commit, as a project on a host would be.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export function createRepository(path: string): string {
  mkdirSync(path, { recursive: true });
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", path, ...args], { stdio: "ignore" });
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@acme.example");
  writeFileSync(join(path, "README.md"), "# A project\n");
  git("add", ".");
  git("commit", "--quiet", "--message=first");
  return path;
}
