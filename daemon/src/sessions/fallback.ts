// Which kind a start uses on this host: reads how the kinds are now, and adapts what the caller wanted to the one
// that is taken.
import type { AgentKind, Fallback, FallbackEntry, SkippedKind } from "@hawser/contract";
import { AgentNotReady, type AgentState } from "../drivers/driver.ts";
import { chooseKind, type KindState } from "./choose-kind.ts";
import { chooseAccount, type HostParts } from "./session.ts";

/** How long a kind may take to say how it is. A start has 28 seconds. */
const lookMs = 15_000;

/** What a start wants, as far as fallback is concerned. */
export interface WantedKind {
  kind: AgentKind;
  providerId?: string | undefined;
  modelId?: string | undefined;
  options?: Record<string, string> | undefined;
  /** Who starts the session: their accounts count. */
  ownerId?: string | null | undefined;
  /** The host's fallback chain; no fallback if undefined. */
  fallback?: { chain: readonly FallbackEntry[]; threshold: number } | undefined;
}

/** `fallback` is undefined if the wanted kind is used. Throws AgentNotReady if no kind is left. */
export async function applyFallback<Wanted extends WantedKind>(
  host: HostParts,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<{ wanted: Wanted; fallback: Fallback | undefined }> {
  const { kind, providerId = null, modelId = null, fallback: chosen } = wanted;
  if (!chosen || chosen.chain.length === 0) return { wanted, fallback: undefined };
  const states = new Map<AgentKind, AgentState>();
  const wish = { preferred: { kind, providerId, modelId }, ...chosen };
  const { entry, skipped } = await chooseKind(wish, async (each): Promise<KindState> => {
    signal.throwIfAborted();
    try {
      const { driver } = chooseAccount(host, each, wanted.ownerId ?? undefined);
      // A kind that hangs must leave time for the next one.
      const soon = AbortSignal.any([signal, AbortSignal.timeout(lookMs)]);
      const state = await driver.readState(soon);
      states.set(each, state);
      const [problem] = state.problems;
      if (problem) return { problem, utilization: null };
      const used = await driver.readUtilization?.(signal);
      return { problem: undefined, utilization: used?.percent ?? null };
    } catch (error) {
      if (!(error instanceof AgentNotReady)) throw error;
      return { problem: { code: "policy_forbids", message: error.message }, utilization: null };
    }
  });
  if (!entry) throw new AgentNotReady(noneLeft(skipped));
  if (skipped.length === 0) return { wanted, fallback: undefined };
  const offered = new Map(states.get(entry.kind)?.options.map(({ id, values }) => [id, values]));
  const isOffered = ([name, value]: [string, string]) => offered.get(name)?.includes(value);
  const options = Object.entries(wanted.options ?? {});
  return {
    wanted: {
      ...wanted,
      kind: entry.kind,
      // A provider without a model means the kind's own model.
      providerId: (entry.modelId && entry.providerId) || undefined,
      modelId: entry.modelId || undefined,
      options: Object.fromEntries(options.filter(isOffered)),
    },
    fallback: {
      preferredKind: kind,
      skipped,
      droppedOptions: options.filter((option) => !isOffered(option)).map(([name]) => name),
    },
  };
}

const noneLeft = (skipped: readonly SkippedKind[]) =>
  `No kind of the host's fallback chain can be used. ${skipped.map(({ kind, message }) => `${kind}: ${message}`).join(" ")}`;
