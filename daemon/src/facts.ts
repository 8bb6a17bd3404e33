// What this machine is: the facts a daemon tells the control plane about its host.
import { readFileSync } from "node:fs";
import { arch, hostname, release, type } from "node:os";
import { AgentKind } from "@hawser/contract";
import type { HostFacts } from "@hawser/host-protocol";
import manifest from "../package.json" with { type: "json" };

export const daemonVersion = manifest.version;

/** Looks at the machine. Agents are found, roots and the code-hosting client read, once there are drivers. */
export function lookAtHost(): HostFacts {
  const absent = { installed: false, version: null, ready: false };
  return {
    host: { hostname: hostname(), os: nameSystem(), arch: arch() },
    daemonVersion,
    agents: AgentKind.options.map((kind) => ({ kind, ...absent })),
    roots: [],
    codeHostingCli: null,
  };
}

/** Such as "Debian GNU/Linux 12"; the kernel's name where there is no os-release. */
function nameSystem(): string {
  let text: string;
  try {
    text = readFileSync("/etc/os-release", "utf8");
  } catch {
    return `${type()} ${release()}`;
  }
  const field = (name: string) => new RegExp(`^${name}="?([^"\\n]*)"?$`, "m").exec(text)?.[1];
  const named = [field("NAME"), field("VERSION_ID")].filter(Boolean).join(" ");
  return named === "" ? `${type()} ${release()}` : named;
}
