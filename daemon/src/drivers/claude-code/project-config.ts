// A repository's own configuration of Claude Code: settings with hooks and addresses, MCP servers,
// commands, agents and skills. It is switched off, so it is named and not refused.
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const names = [".claude", ".mcp.json", "CLAUDE.local.md"];

/** What is ignored in a directory and above it, up to the top of the repository. */
export function findIgnoredConfig(directory: string): string[] {
  const found: string[] = [];
  let folder = directory;
  for (;;) {
    for (const name of names) {
      const path = join(folder, name);
      if (existsSync(path)) found.push(relative(directory, path));
    }
    const parent = dirname(folder);
    if (existsSync(join(folder, ".git")) || parent === folder) return found.sort();
    folder = parent;
  }
}
