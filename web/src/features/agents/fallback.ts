// The order in which a host's new sessions choose an agent: what it means, and how it is edited.
import type { InstanceDetail } from "@hawser/client";

export type Entry = InstanceDetail["fallbackChain"][number];

/** An entry while the order is edited. A kind can be in it with several models. */
export interface Draft extends Entry {
  id: number;
}

export const kinds: readonly Entry["kind"][] = ["opencode", "claude_code", "codex"];

/** The kind of a session for which nobody names one, as the service chooses it. */
export function defaultKindOf({
  fallbackChain,
  agents,
}: Pick<InstanceDetail, "fallbackChain" | "agents">): Entry["kind"] | undefined {
  const [preferred] = fallbackChain;
  if (preferred) return preferred.kind;
  return kinds.find((kind) => agents.some((agent) => agent.kind === kind && agent.ready));
}

/** Moves the entry at `from` by `by` places. Undefined if that would leave the list. */
export function moved(entries: readonly Draft[], from: number, by: number): Draft[] | undefined {
  const to = from + by;
  const entry = entries[from];
  if (!entry || to < 0 || to >= entries.length) return undefined;
  const others = entries.filter((_, index) => index !== from);
  return [...others.slice(0, to), entry, ...others.slice(to)];
}
