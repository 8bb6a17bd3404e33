// Lets the codex of a host log in at the stand-in of its issuer.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CodexIssuer } from "./codex-issuer.ts";
import type { TestHost } from "./host.ts";

/** The addresses of codex's issuer are variables that a daemon passes to no agent, so the program sets them. */
export function wrapCodex(
  { stateDirectory }: Pick<TestHost, "stateDirectory">,
  { environment }: CodexIssuer,
): void {
  const place = join(stateDirectory, "agents/codex");
  const file = join(place, "current.json");
  const current = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
  const directory = join(place, current["directory"]!);
  const lines = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'`);
  const script = `#!/bin/sh\n${lines.join("\n")}\nexec '${join(directory, current["program"]!)}' "$@"\n`;
  writeFileSync(join(directory, "codex.sh"), script, { mode: 0o755 });
  writeFileSync(
    file,
    JSON.stringify({ ...current, program: "codex.sh", programSize: script.length }),
  );
}

/** Points the codex of a member's account, which is not linked yet, at this model. */
export function prepareAccount(
  { stateDirectory, instanceId }: Pick<TestHost, "stateDirectory" | "instanceId">,
  issuer: CodexIssuer,
  { userId, createdAt }: { userId: string; createdAt: string },
  modelUrl: string,
): void {
  const owner = `${userId}.${Date.parse(createdAt)}`;
  const home = join(stateDirectory, "homes", instanceId, owner, "codex/home");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  issuer.writeHome(home, modelUrl);
}
