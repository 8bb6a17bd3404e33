// Chooses the agent kind that continues a turn, by the fallback chain.
import type { AgentKind, FallbackEntry, SkippedKind } from "@hawser/contract";

/** A kind that could not continue the turn, and why. */
export interface PassedOver {
  kind: AgentKind;
  /** Code of the refusal. */
  code: string;
  message: string;
}

export interface Wanted {
  /** The chain of the schedule that began the turn, or else that of the host. */
  chain: readonly FallbackEntry[];
  /** The kinds of the session and of those that it continues: no kind is used twice. */
  used: readonly AgentKind[];
  passedOver: readonly PassedOver[];
  /** The kind that a host may have been asked for. It is asked again, even if the chain was changed since. */
  asked: AgentKind | null;
}

/** Undefined if no kind is left. */
export function nextEntry({ chain, used, passedOver, asked }: Wanted): FallbackEntry | undefined {
  if (asked !== null) {
    const entry = chain.find(({ kind }) => kind === asked);
    return entry ?? { kind: asked, providerId: null, modelId: null };
  }
  const left = chain.filter(({ kind }) => !used.includes(kind));
  return left.find(({ kind }) => passedOver.every((passed) => passed.kind !== kind));
}

/** Why no kind is left, as a sentence. */
export function whyNoneLeft({ chain, passedOver }: Wanted): string {
  if (chain.length === 0) {
    return "The host has no fallback chain. Set one with set_fallback_chain.";
  }
  if (passedOver.length === 0) return "No kind of the fallback chain is left to continue with.";
  const reasons = passedOver.map(({ kind, message }) => `${kind}: ${message}`).join(" ");
  return `No kind of the fallback chain could continue the turn. ${reasons}`;
}

/** The kinds that the fork does not use, as its record and its log show them. */
export function skippedKinds(
  original: { kind: AgentKind; sessionId: string; turnId: string },
  passedOver: readonly PassedOver[],
): SkippedKind[] {
  const { kind, sessionId, turnId } = original;
  const message = `The quota of ${kind} was used up during the turn ${turnId} of the session ${sessionId}, which this session continues.`;
  return [
    { kind, reason: "quota", message, utilization: null },
    ...passedOver.map((passed) => ({
      kind: passed.kind,
      reason: passed.code,
      message: passed.message,
      utilization: null,
    })),
  ];
}
