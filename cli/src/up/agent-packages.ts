// The address from which hosts download the agents' packages: HAWSER_AGENT_PACKAGES, or the registry that npm
// is set to on this machine.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { withoutLogin } from "../engines/registry.ts";
import { partEnvironment } from "./environment.ts";

const patienceMs = 10_000;

export interface AgentPackages {
  url: string;
  /** Where the address comes from, for a sentence. */
  origin: "HAWSER_AGENT_PACKAGES" | "npm's setting on this machine";
}

/** undefined if npm is missing or has no setting. */
export async function findAgentPackages(): Promise<AgentPackages | undefined> {
  const { HAWSER_AGENT_PACKAGES: asked, npm_config_registry: ofNpm } = process.env;
  if (asked) return { url: asked, origin: "HAWSER_AGENT_PACKAGES" };
  const url = withoutLogin(ofNpm || (await askNpm()));
  return url && URL.canParse(url) ? { url, origin: "npm's setting on this machine" } : undefined;
}

async function askNpm(): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("npm", ["config", "get", "registry"], {
      // A project in the current directory may have settings of its own.
      cwd: "/",
      timeout: patienceMs,
      env: partEnvironment(),
    });
    return stdout.trim();
  } catch {
    return "";
  }
}
