// Chooses the agent kind of a new session by the host's fallback chain. Decided once, when the session starts:
// the preferred kind if it is ready and below the threshold, or else the first entry of the chain that is.
import type { AgentKind, FallbackEntry, SkippedKind } from "@hawser/contract";

export interface Wish {
  /** The kind that the caller asked for, or else the host's default. */
  preferred: FallbackEntry;
  /** The host's chain; fallback is off if it is empty. */
  chain: readonly FallbackEntry[];
  /** Percent of a kind's quota. */
  threshold: number;
}

export interface KindState {
  /** Why the kind cannot be used; undefined if it can. */
  problem: { code: string; message: string } | undefined;
  /** Percent of its quota that are used; null if unknown, which counts as none. */
  utilization: number | null;
}

export type Chosen = { entry: FallbackEntry | undefined; skipped: SkippedKind[] };

/** `entry` is undefined if no kind is left. Reads states only until one fits. */
export async function chooseKind(
  { preferred, chain, threshold }: Wish,
  stateOf: (kind: AgentKind) => Promise<KindState>,
): Promise<Chosen> {
  const skipped: SkippedKind[] = [];
  if (chain.length === 0) return { entry: preferred, skipped };
  for (const entry of [preferred, ...chain]) {
    // A kind that does not work does not work with another model either.
    if (skipped.some(({ kind }) => kind === entry.kind)) continue;
    const reason = whyNot(entry.kind, await stateOf(entry.kind), threshold);
    if (!reason) return { entry, skipped };
    skipped.push(reason);
  }
  return { entry: undefined, skipped };
}

function whyNot(
  kind: AgentKind,
  { problem, utilization }: KindState,
  threshold: number,
): SkippedKind | undefined {
  if (problem) return { kind, reason: problem.code, message: problem.message, utilization };
  if (utilization === null || utilization < threshold) return undefined;
  const message = `${Math.floor(utilization)} percent of the quota of ${kind} are used. The host's threshold is ${threshold} percent.`;
  return { kind, reason: "quota", message, utilization };
}
