// The settings of codex in a host owner's home: the scripted model as its provider, and skills.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export { writeCodexHome } from "@hawser/cli/demo/agent-homes.ts";

/** Adds a skill, which codex runs by its name. */
export function writeSkill(home: string, name: string, instructions: string): void {
  const directory = join(home, "skills", name);
  mkdirSync(directory, { recursive: true });
  const head = ["---", `name: ${name}`, `description: ${name}`, "---"].join("\n");
  writeFileSync(join(directory, "SKILL.md"), `${head}\n${instructions}\n`);
}
