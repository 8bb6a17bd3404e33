// Builds the dashboard.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const longestBuildMs = 300_000;

/**
 * Writes the files into a directory, which is emptied first: by default the one from which a node of the sources
 * serves them. Returns the directories of the npm packages whose code or fonts are in them.
 */
export function buildPages(into = join(root, "control-plane/pages")): string[] {
  // The build would take a relative path for one below web/.
  const directory = resolve(into);
  const vite = join(root, "node_modules/.bin/vite");
  const options = ["--outDir", directory, "--emptyOutDir", "--logLevel", "warn"];
  execFileSync(vite, ["build", join(root, "web"), ...options], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: longestBuildMs,
  });
  // The build lists them for the licences. Nobody serves the list.
  const list = join(directory, "packages.json");
  const packages = JSON.parse(readFileSync(list, "utf8")) as string[];
  rmSync(list);
  return packages;
}
