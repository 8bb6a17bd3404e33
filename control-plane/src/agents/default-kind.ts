// The agent kind of a host's sessions if the caller names none.
import type { AgentKind, FallbackEntry, InstanceRecord } from "@hawser/contract";

const order: readonly AgentKind[] = ["opencode", "claude_code", "codex"];

/**
 * The first entry of the host's fallback chain, or else the first kind that is ready there. If no kind
 * is known to be ready, the first kind: the host's state may be newer than its last report, and the
 * host says what is missing.
 */
export function defaultKind(
  chain: readonly FallbackEntry[],
  agents: InstanceRecord["agents"],
): FallbackEntry {
  const [preferred] = chain;
  if (preferred) return preferred;
  const ready = order.find((each) => agents.some((agent) => agent.kind === each && agent.ready));
  return { kind: ready ?? order[0]!, providerId: null, modelId: null };
}
