// Finds a repository's configuration of codex: settings with MCP servers, hooks and rules. Codex ignores
// it, because the repository is marked as untrusted, so the files are listed and cause no refusal.
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { findRepository } from "../../git/find-repository.ts";

const names = ["config.toml", "hooks.json", "hooks", "rules", "agents"];

/** Searches the directory and its parents up to the top of the repository. Paths are relative. */
export function findIgnoredConfig(directory: string): string[] {
  const top = findRepository(directory)?.top ?? directory;
  const found: string[] = [];
  for (let folder = directory; ; folder = dirname(folder)) {
    for (const name of names) {
      const path = join(folder, ".codex", name);
      if (existsSync(path)) found.push(relative(directory, path));
    }
    if (folder === top || folder === dirname(folder)) return found.sort();
  }
}
