// The settings of codex in a host owner's home: the scripted model as its provider.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes codex's settings into its home directory, so that it asks the scripted model. */
export function writeCodexHome(home: string, modelUrl: string): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const settings = [
    // codex offers this model plain tools. It offers newer models one tool that runs JavaScript.
    'model = "gpt-5.5"',
    'model_provider = "stub"',
    "",
    "[model_providers.stub]",
    'name = "Stub"',
    `base_url = "${modelUrl}/v1"`,
    'wire_api = "responses"',
    "request_max_retries = 1",
    "stream_max_retries = 1",
    "",
  ];
  writeFileSync(join(home, "config.toml"), settings.join("\n"));
}

/** Adds a skill, which codex runs by its name. */
export function writeSkill(home: string, name: string, instructions: string): void {
  const directory = join(home, "skills", name);
  mkdirSync(directory, { recursive: true });
  const head = ["---", `name: ${name}`, `description: ${name}`, "---"].join("\n");
  writeFileSync(join(directory, "SKILL.md"), `${head}\n${instructions}\n`);
}
