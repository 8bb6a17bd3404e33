// The settings of Claude Code in a host owner's home: a key, and the address of the scripted model.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes Claude Code's own settings into a home directory. */
export function writeClaudeHome(home: string, modelUrl: string): void {
  const directory = join(home, ".claude");
  mkdirSync(directory, { recursive: true });
  const settings = { env: { ANTHROPIC_BASE_URL: modelUrl, ANTHROPIC_API_KEY: "none" } };
  writeFileSync(join(directory, "settings.json"), `${JSON.stringify(settings, undefined, 2)}\n`);
}

/** Adds a slash command: its name, and the prompt that it expands to. */
export function writeClaudeCommand(home: string, name: string, prompt: string): void {
  const directory = join(home, ".claude", "commands");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name}.md`), `---\ndescription: ${name}\n---\n${prompt}\n`);
}
