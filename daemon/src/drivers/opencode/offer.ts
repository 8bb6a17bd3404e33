// Reads what opencode offers on this host: models, their variants, and modes. opencode's answer contains
// the providers' keys; they are read here and never passed on.
import type { ModelChoice, ModelListing } from "@hawser/contract";
import { findModel, type Offer } from "../offer.ts";
import type { Api } from "./api.ts";

interface Providers {
  providers: {
    id: string;
    options?: { apiKey?: string };
    models: Record<
      string,
      { id: string; variants?: Record<string, unknown>; limit?: { context?: number } }
    >;
  }[];
  default: Record<string, string>;
}

export interface Offers {
  /** Reads the offer from the server. */
  read(signal: AbortSignal): Promise<Offer>;
  /** Returns an offer at most a minute old, so that a prompt need not wait for three requests. */
  recent(signal: AbortSignal): Promise<Offer>;
  /** The size of a model's context, as it was read last; undefined if it is not known. */
  windowOf(providerId: string, modelId: string): number | undefined;
}

const recentMs = 60_000;

export function createOffers(api: Api): Offers {
  let known: { offer: Offer; windows: Map<string, number>; at: number } | undefined;
  const read = async (signal: AbortSignal) => {
    const { offer, windows } = await readOffer(api, signal);
    known = { offer, windows, at: performance.now() };
    return offer;
  };
  return {
    read,
    recent: async (signal) =>
      known && performance.now() - known.at < recentMs ? known.offer : read(signal),
    windowOf: (providerId, modelId) => known?.windows.get(`${providerId}/${modelId}`),
  };
}

async function readOffer(
  api: Api,
  signal: AbortSignal,
): Promise<{ offer: Offer; windows: Map<string, number> }> {
  const details = { signal };
  const [listing, config, agents] = (await Promise.all([
    api.request("GET", "/config/providers", details),
    api.request("GET", "/config", details),
    api.request("GET", "/agent", details),
  ])) as [
    Providers,
    { model?: string; default_agent?: string },
    { name: string; mode: string; hidden?: boolean }[],
  ];
  const providers = listing.providers.filter(isUsable).map(({ id, models }) => ({
    providerId: id,
    models: Object.values(models).map((model) => ({
      modelId: model.id,
      variants: Object.keys(model.variants ?? {}),
    })),
  }));
  const shown = agents.filter(({ hidden }) => hidden !== true);
  const primary = shown.filter(({ mode }) => mode !== "subagent").map(({ name }) => name);
  const modes = [...primary, ...shown.map(({ name }) => name)];
  const variants = providers.flatMap(({ models }) => models.flatMap((model) => model.variants));
  const windows = new Map<string, number>();
  for (const { id, models } of listing.providers) {
    for (const { id: modelId, limit } of Object.values(models)) {
      if (limit?.context) windows.set(`${id}/${modelId}`, limit.context);
    }
  }
  const offer = {
    models: { providers, defaultModel: defaultOf(config.model, providers, listing.default) },
    modes: [...new Set(modes)],
    defaultMode: primary.find((name) => name === config.default_agent) ?? primary[0] ?? "build",
    options: [{ id: "variant", name: "Variant", values: [...new Set(variants)], default: null }],
    variantOption: "variant",
  };
  return { offer, windows };
}

/** Without a key, opencode's own provider is a public service, which the host's user did not choose. */
function isUsable({ id, options }: Providers["providers"][number]): boolean {
  return id !== "opencode" || (options?.apiKey ?? "public") !== "public";
}

function defaultOf(
  configured: string | undefined,
  providers: ModelListing["providers"],
  firstPicks: Record<string, string>,
): ModelChoice | null {
  const at = configured?.indexOf("/") ?? -1;
  const wanted =
    configured && at > 0
      ? { providerId: configured.slice(0, at), modelId: configured.slice(at + 1) }
      : undefined;
  if (wanted && findModel({ providers }, wanted)) return wanted;
  for (const { providerId } of providers) {
    const modelId = firstPicks[providerId];
    if (modelId !== undefined) return { providerId, modelId };
  }
  return null;
}
