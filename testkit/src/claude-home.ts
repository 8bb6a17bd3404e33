// The settings of Claude Code in a host owner's home: a key or a login, the address of the scripted model, and
// slash commands.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export { writeClaudeHome } from "@hawser/cli/demo/agent-homes.ts";

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
