// The settings of opencode in a host owner's home: the scripted model as its provider, and slash commands.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export { writeOpencodeHome } from "@hawser/cli/demo/agent-homes.ts";

/** Adds a slash command: its name, and the prompt that it expands to. */
export function writeSlashCommand(home: string, name: string, prompt: string): void {
  const directory = join(home, ".config", "opencode", "command");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name}.md`), `---\ndescription: ${name}\n---\n${prompt}\n`);
}
