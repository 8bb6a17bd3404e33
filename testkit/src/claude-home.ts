// The settings of Claude Code in a host owner's home: a key, and the address of the scripted model.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes Claude Code's own settings into a home directory. */
export function writeClaudeHome(home: string, modelUrl: string): void {
  const directory = join(home, ".claude");
  mkdirSync(directory, { recursive: true });
  // The host may have a proxy for the stand-in of GitHub, which Claude Code would also use for the model.
  const env = { ANTHROPIC_BASE_URL: modelUrl, ANTHROPIC_API_KEY: "none", NO_PROXY: "127.0.0.1" };
  const settings = { env };
  writeFileSync(join(directory, "settings.json"), `${JSON.stringify(settings, undefined, 2)}\n`);
}

/** Replaces the key by the login of a subscription. Its token is good for a year, so nothing asks its issuer. */
export function writeClaudeLogin(home: string, modelUrl: string): void {
  const directory = join(home, ".claude");
  const env = { ANTHROPIC_BASE_URL: modelUrl, NO_PROXY: "127.0.0.1" };
  writeFileSync(join(directory, "settings.json"), `${JSON.stringify({ env })}\n`);
  const claudeAiOauth = {
    accessToken: "sk-ant-oat01-none",
    refreshToken: "sk-ant-ort01-none",
    expiresAt: Date.now() + 365 * 24 * 3600_000,
    scopes: ["user:inference", "user:profile", "user:sessions:claude_code"],
    subscriptionType: "max",
    rateLimitTier: "default_claude_max_5x",
  };
  const text = `${JSON.stringify({ claudeAiOauth })}\n`;
  writeFileSync(join(directory, ".credentials.json"), text, { mode: 0o600 });
}

/** Adds a slash command: its name, and the prompt that it expands to. */
export function writeClaudeCommand(home: string, name: string, prompt: string): void {
  const directory = join(home, ".claude", "commands");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name}.md`), `---\ndescription: ${name}\n---\n${prompt}\n`);
}
