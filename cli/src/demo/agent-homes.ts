// The settings of the three agents in a home directory, with which they ask the scripted model instead of their
// makers' services.
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

/** Writes Claude Code's own settings into a home directory. */
export function writeClaudeHome(home: string, modelUrl: string): void {
  const directory = join(home, ".claude");
  mkdirSync(directory, { recursive: true });
  // The host may have a proxy for the stand-in of GitHub, which Claude Code would also use for the model.
  const env = { ANTHROPIC_BASE_URL: modelUrl, ANTHROPIC_API_KEY: "none", NO_PROXY: "127.0.0.1" };
  const settings = { env };
  writeFileSync(join(directory, "settings.json"), `${JSON.stringify(settings, undefined, 2)}\n`);
}

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
