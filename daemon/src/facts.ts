// The facts that the daemon reports about its host. The machine's own are read here; those about agents,
// roots and the code-hosting client are read by the parts that know them.
import { readFileSync } from "node:fs";
import { arch, hostname, release, type } from "node:os";
import { AgentKind } from "@hawser/contract";
import type { HostFacts } from "@hawser/host-protocol";
import { describe, type Log } from "./log.ts";
import type { Operations } from "./operations.ts";
import { daemonVersion } from "./release.ts";

/** Reads one part's facts. Warnings of all parts are joined. */
export type FactReader = () => Promise<
  Partial<Pick<HostFacts, "agents" | "roots" | "codeHostingCli" | "warnings">>
>;

export interface Facts {
  /** The facts that were read last, with the present operations. */
  current: () => HostFacts;
  /** Reads all facts again. If a part fails, its last facts stay, with a warning. */
  refresh: () => Promise<HostFacts>;
}

/** `known`: facts that are reported from the start, without reading them. */
export function createFacts(
  readers: readonly FactReader[],
  operations: Pick<Operations, "list">,
  log: Log,
  known: Partial<HostFacts> = {},
): Facts {
  let seen = { ...lookAtMachine(), ...known };
  const current = () => ({ ...seen, operations: operations.list() });
  async function readAll(): Promise<HostFacts> {
    const found = await Promise.all(
      readers.map((each) =>
        each().catch((error: unknown) => {
          log.warn("could not read some facts about the host", { error: describe(error) });
          return { warnings: [{ code: "look_failed", message: describe(error) }] };
        }),
      ),
    );
    const warnings = found.flatMap((part) => part.warnings ?? []);
    const { agents, roots, codeHostingCli } = seen;
    seen = { ...lookAtMachine(), agents, roots, codeHostingCli };
    for (const part of found) seen = { ...seen, ...part };
    seen = { ...seen, warnings };
    return current();
  }

  // One refresh at a time: a slow one must not overwrite the facts of a later one.
  let last: Promise<unknown> = Promise.resolve();
  return {
    current,
    refresh() {
      const next = last.then(readAll);
      last = next.catch(() => {});
      return next;
    },
  };
}

function lookAtMachine(): HostFacts {
  const absent = { installed: false, version: null, ready: false, problems: [] };
  return {
    host: { hostname: hostname(), os: nameSystem(), arch: arch() },
    daemonVersion,
    agents: AgentKind.options.map((kind) => ({ kind, ...absent })),
    roots: [],
    codeHostingCli: null,
    warnings: [],
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
