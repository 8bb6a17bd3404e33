// The settings of opencode in a host owner's home: the scripted model as its provider.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes opencode's settings into a home directory, so that it asks the scripted model. */
export function writeOpencodeHome(home: string, modelUrl: string): void {
  const directory = join(home, ".config", "opencode");
  mkdirSync(directory, { recursive: true });
  const text = `${JSON.stringify(opencodeSettings(modelUrl), undefined, 2)}\n`;
  writeFileSync(join(directory, "opencode.json"), text);
  // opencode reads its catalogue of public models for each directory, which takes it a second of processor
  // time. Only the scripted provider is enabled, so the catalogue can be empty.
  const cache = join(home, ".cache", "opencode");
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "models.json"), "{}\n");
  // Otherwise every server downloads 63 MB for plugins that are not used.
  writeFileSync(join(home, ".npmrc"), "registry=http://127.0.0.1:9/\nfetch-retries=0\n");
}

/** Adds a slash command: its name, and the prompt that it expands to. */
export function writeSlashCommand(home: string, name: string, prompt: string): void {
  const directory = join(home, ".config", "opencode", "command");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name}.md`), `---\ndescription: ${name}\n---\n${prompt}\n`);
}

function opencodeSettings(modelUrl: string) {
  return {
    $schema: "https://opencode.ai/config.json",
    autoupdate: false,
    share: "disabled",
    model: "stub/stub-1",
    small_model: "stub/stub-small",
    enabled_providers: ["stub"],
    provider: {
      stub: {
        npm: "@ai-sdk/openai-compatible",
        name: "Stub",
        options: { baseURL: `${modelUrl}/v1`, apiKey: "none" },
        models: {
          "stub-1": {
            name: "Stub One",
            attachment: true,
            reasoning: true,
            tool_call: true,
            modalities: { input: ["text", "image"], output: ["text"] },
            limit: { context: 200_000, output: 8000 },
            // Per million tokens.
            cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
          },
          "stub-small": {
            name: "Stub Small",
            tool_call: true,
            limit: { context: 32_000, output: 4000 },
          },
        },
      },
    },
  };
}
