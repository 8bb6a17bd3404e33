// A checkout of the present sources, as a user has it after `git clone` and `npm run setup`: what setup
// downloads is linked, not copied.
import { spawnSync } from "node:child_process";
import { cpSync, lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

export function makeCheckout(directory: string): void {
  const listed = must("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard");
  for (const name of listed.split("\0").filter(Boolean)) {
    // A file that was removed and not yet committed is still listed.
    if (lstatSync(join(root, name), { throwIfNoEntry: false }))
      cpSync(join(root, name), join(directory, name), { verbatimSymlinks: true });
  }
  for (const folder of [root, ...subdirectories(root)]) linkModules(folder, directory);
  must("cp", "-al", join(root, ".tools"), directory);
}

/** Tests keep hundreds of megabytes in the cache, which no user has. */
function linkModules(folder: string, directory: string): void {
  const from = join(folder, "node_modules");
  if (!lstatSync(from, { throwIfNoEntry: false })) return;
  const to = join(directory, folder.slice(root.length), "node_modules");
  mkdirSync(to, { recursive: true });
  const names = readdirSync(from).filter((name) => name !== ".cache");
  must("cp", "-al", ...names.map((name) => join(from, name)), to);
}

const subdirectories = (of: string) =>
  readdirSync(of, { withFileTypes: true })
    .filter(
      (entry) =>
        entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules",
    )
    .map(({ name }) => join(of, name));

function must(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
  return stdout;
}
