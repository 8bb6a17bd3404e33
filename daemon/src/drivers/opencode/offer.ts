// What the opencode on this host offers: models, their variants and modes; and the check of what a prompt
// names, because opencode takes a prompt with an unknown name and fails later, or ignores the name.
// Keys of providers, which opencode shows here, go no further.
import type { ModelChoice, ModelListing } from "@hawser/contract";
import { NotOffered } from "../driver.ts";
import type { Api } from "./api.ts";

export interface Offer {
  models: Omit<ModelListing, "agentKind">;
  modes: string[];
  defaultMode: string;
  variants: string[];
}

interface Providers {
  providers: {
    id: string;
    options?: { apiKey?: string };
    models: Record<string, { id: string; variants?: Record<string, unknown> }>;
  }[];
  default: Record<string, string>;
}

export interface Offers {
  /** As it is now. */
  read(signal: AbortSignal): Promise<Offer>;
  /** As it was a moment ago: a prompt must not wait for three answers that hardly ever change. */
  recent(signal: AbortSignal): Promise<Offer>;
}

const recentMs = 60_000;

/** Of one server. */
export function openOffers(api: Api): Offers {
  let known: { offer: Offer; at: number } | undefined;
  const read = async (signal: AbortSignal) => {
    const offer = await readOffer(api, signal);
    known = { offer, at: performance.now() };
    return offer;
  };
  return {
    read,
    recent: async (signal) =>
      known && performance.now() - known.at < recentMs ? known.offer : read(signal),
  };
}

async function readOffer(api: Api, signal: AbortSignal): Promise<Offer> {
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
  return {
    models: { providers, defaultModel: defaultOf(config.model, providers, listing.default) },
    modes: [...new Set(modes)],
    defaultMode: primary.find((name) => name === config.default_agent) ?? primary[0] ?? "build",
    variants: [...new Set(variants)],
  };
}

/** Without a key of its own, its maker's provider is a public service, which nobody here chose. */
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
  if (wanted && hasModel(providers, wanted)) return wanted;
  for (const { providerId } of providers) {
    const modelId = firstPicks[providerId];
    if (modelId !== undefined) return { providerId, modelId };
  }
  return null;
}

function findModel(providers: ModelListing["providers"], { providerId, modelId }: ModelChoice) {
  return providers
    .find((provider) => provider.providerId === providerId)
    ?.models.find((model) => model.modelId === modelId);
}

const hasModel = (providers: ModelListing["providers"], choice: ModelChoice) =>
  findModel(providers, choice) !== undefined;

export interface Choice {
  model: ModelChoice;
  agent: string;
  variant: string | undefined;
}

/** Everything a prompt must say, from what it names and what holds otherwise. Throws NotOffered. */
export function choose(
  { models, modes, defaultMode }: Offer,
  asked: { model: ModelChoice | null; agent: string | null; options: Record<string, string> },
): Choice {
  const model = asked.model ?? models.defaultModel;
  if (!model)
    throw new NotOffered("model", "opencode has no model. Set up a provider on the host.");
  const name = `${model.providerId}/${model.modelId}`;
  const found = findModel(models.providers, model);
  if (!found) throw new NotOffered("model", `opencode has no model ${name} on this host.`);
  const agent = asked.agent ?? defaultMode;
  if (!modes.includes(agent)) {
    const offered = modes.join(", ");
    throw new NotOffered("agent", `opencode has no mode ${agent}. It has ${offered}.`);
  }
  const { variant, ...others } = asked.options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new NotOffered("options", `opencode has no option ${unknown}. It has variant.`);
  }
  if (variant !== undefined && !found.variants.includes(variant)) {
    const offered = found.variants.length > 0 ? found.variants.join(", ") : "none";
    throw new NotOffered("options", `${name} has no variant ${variant}. It has: ${offered}.`);
  }
  return { model, agent, variant };
}
