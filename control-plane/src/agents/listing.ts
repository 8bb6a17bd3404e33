// Agent kinds as list_agent_kinds shows them, made from what a host tells of its agents.
import { AgentKind, type AgentKindRecord } from "@hawser/contract";
import type { HostFacts } from "@hawser/host-protocol";

/** One entry for each kind, also for those the host did not speak of. */
export function agentKindRecords(agents: HostFacts["agents"]): AgentKindRecord[] {
  return AgentKind.options.map((kind) => {
    const found = agents.find((agent) => agent.kind === kind);
    return {
      kind,
      installed: found?.installed ?? false,
      version: found?.version ?? null,
      problems: found ? (found.problems ?? []) : [neverTold],
      // No daemon can run an agent yet, so none could work for anybody.
      authenticated: false,
      capabilities: [],
      options: [],
    };
  });
}

const neverTold = {
  code: "host_unknown",
  message: "No host has told of its agents yet. Pair one and start its daemon.",
};
