// Small git repositories, used as projects on a host.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";

/** Runs git in a directory as the host's owner. */
export function git(directory: string, ...args: string[]): void {
  execFileSync("git", ["-C", directory, ...args], { stdio: "ignore" });
}

/** Makes a repository with one commit on main. */
export function createRepository(path: string): string {
  mkdirSync(path, { recursive: true });
  git(path, "init", "--quiet", "--initial-branch=main");
  git(path, "config", "user.name", "Ada");
  git(path, "config", "user.email", "ada@acme.example");
  writeFileSync(join(path, "README.md"), "# A project\n");
  git(path, "add", ".");
  git(path, "commit", "--quiet", "--message=first");
  return path;
}

/** Makes repositories without commits in a folder, each with an origin. */
export async function createManyRepositories(folder: string, count: number): Promise<void> {
  const nameOf = (index: number) => join(folder, `project-${String(index).padStart(5, "0")}`);
  const first = nameOf(1);
  mkdirSync(first, { recursive: true });
  git(first, "init", "--quiet", "--template=", "--initial-branch=main");
  git(first, "remote", "add", "origin", "https://code.example/acme/project.git");
  for (let i = 2; i <= count; i++) await cp(first, nameOf(i), { recursive: true });
}
