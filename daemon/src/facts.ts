// What this machine is: the facts a daemon tells the control plane about its host. The machine itself
// is looked at here; agents, roots and the code-hosting client by the parts that know them.
import { readFileSync } from "node:fs";
import { arch, hostname, release, type } from "node:os";
import { AgentKind } from "@hawser/contract";
import type { HostFacts } from "@hawser/host-protocol";
import { describe, type Log } from "./log.ts";
import type { Operations } from "./operations.ts";
import { daemonVersion } from "./release.ts";

/** One part's look at the machine. Warnings of all looks are put together. */
export type Look = () => Promise<
  Partial<Pick<HostFacts, "agents" | "roots" | "codeHostingCli" | "warnings">>
>;

export interface Facts {
  /** As last seen, with what the host is doing now. */
  current: () => HostFacts;
  /** Looks again. A look that fails leaves what was known, and a warning. */
  refresh: () => Promise<HostFacts>;
}

/** `known` is what need not be looked for: it is told from the first moment. */
export function createFacts(
  looks: readonly Look[],
  operations: Operations,
  log: Log,
  known: Partial<HostFacts> = {},
): Facts {
  let seen = { ...lookAtMachine(), ...known };
  const current = () => ({ ...seen, operations: operations.list() });
  async function look(): Promise<HostFacts> {
    const found = await Promise.all(
      looks.map((each) =>
        each().catch((error: unknown) => {
          log.warn("a look at the host failed", { error: describe(error) });
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

  // One after the other: an earlier look that took longer must not put its own in place of a later one's.
  let last: Promise<unknown> = Promise.resolve();
  return {
    current,
    refresh() {
      const next = last.then(look);
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
