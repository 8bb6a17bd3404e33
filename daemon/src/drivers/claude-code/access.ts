// How Claude Code uses a linked secret instead of a login. The secret is a file in the account's home. Where
// Claude Code can read it from there, it is not in the environment, which commands of the agent inherit.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../environment.ts";
import { replaceText } from "../../state/replace-file.ts";
import { AgentNotReady } from "../driver.ts";
import type { Access } from "../login.ts";

/** Settings of each process. */
export interface ClaudeAccess {
  environment: Environment;
  settings: { apiKeyHelper?: string };
}

const secretFile = (home: string) => join(home, "linked-secret");

/** Only the owner can read the file. */
export const storeSecret = (home: string, secret: string) => replaceText(secretFile(home), secret);
export const removeSecret = (home: string) => rmSync(secretFile(home), { force: true });
export const hasSecret = (home: string) => existsSync(secretFile(home));

/** Throws AgentNotReady if the secret is gone. */
export function accessOf(home: string, access: Access): ClaudeAccess {
  const { way } = access;
  const file = secretFile(home);
  if (way !== "subscription" && !hasSecret(home)) {
    throw new AgentNotReady("The host no longer has your secret. Call link_agent_identity again.");
  }
  // Claude Code sends what the helper prints both as x-api-key and as a bearer token.
  const apiKeyHelper = `cat '${file.replaceAll("'", String.raw`'\''`)}'`;
  const settings = way === "api_key" || way === "gateway" ? { apiKeyHelper } : {};
  return { environment: environmentOf(file, access), settings };
}

function environmentOf(file: string, { way, baseUrl, region, projectId }: Access): Environment {
  if (way === "gateway") return { ANTHROPIC_BASE_URL: baseUrl! };
  if (way === "bedrock") {
    return {
      CLAUDE_CODE_USE_BEDROCK: "1",
      AWS_REGION: region!,
      // Claude Code reads it from its environment only.
      AWS_BEARER_TOKEN_BEDROCK: readFileSync(file, "utf8"),
    };
  }
  if (way === "vertex") {
    return {
      CLAUDE_CODE_USE_VERTEX: "1",
      CLOUD_ML_REGION: region!,
      ANTHROPIC_VERTEX_PROJECT_ID: projectId!,
      GOOGLE_APPLICATION_CREDENTIALS: file,
    };
  }
  return {};
}
