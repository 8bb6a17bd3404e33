// The agent kind that a host's sessions have when a caller asks for none.
import type { AgentKind, FallbackEntry, InstanceRecord } from "@hawser/contract";

const order: readonly AgentKind[] = ["opencode", "claude_code", "codex"];

/**
 * The first of the host's fallback chain, else the first kind that is ready there. Where none is known
 * to be, the first there is: the host knows better than what it last told, and says what is in the way.
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
