// The address that npm downloads packages from on this machine. Hawser has none of its own.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const longestMs = 20_000;

/** Ends with a slash. Throws a sentence if npm's setting cannot be read. */
export async function registryAddress(scope = "@hawser"): Promise<string> {
  // npm and npx set it for the programs that they start.
  const set = withoutLogin(process.env["npm_config_registry"] || (await askNpm(scope)));
  return set.endsWith("/") ? set : `${set}/`;
}

/** A name and a password in the address would be shown in sentences and logs, and fetch refuses them. */
export const withoutLogin = (address: string) => address.replace(/^(https?:\/\/)[^/]*@/i, "$1");

async function askNpm(scope: string): Promise<string> {
  const key = `${scope}:registry`;
  let text: string;
  try {
    // Run in /, so that the settings of a project in the current directory have no effect.
    const ran = await promisify(execFile)("npm", ["config", "get", key, "registry"], {
      cwd: "/",
      timeout: longestMs,
    });
    text = ran.stdout;
  } catch (cause) {
    throw new Error(
      "The address of npm packages is not known, because npm does not run here. Set npm_config_registry to the address of a registry.",
      { cause },
    );
  }
  // Several keys are printed as `key=value`, a missing one as undefined.
  const values = new Map(
    text
      .trim()
      .split("\n")
      .map((line) => line.trim().split(/ ?= ?(.*)/s) as [string, string]),
  );
  const address = [values.get(key), values.get("registry")].find((value) => value?.includes("://"));
  if (address) return address;
  throw new Error("npm has no registry set. Set npm_config_registry to the address of a registry.");
}
