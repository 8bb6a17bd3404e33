// A repository's own configuration of codex: settings with MCP servers, hooks, rules. Codex is told not to
// trust the repository, so that it is named and not refused.
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { findRepository } from "../../git/find-repository.ts";

const names = ["config.toml", "hooks.json", "hooks", "rules", "agents"];

/** What is ignored in a directory and above it, up to the top of the repository. */
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
