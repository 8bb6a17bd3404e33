// What codex offers on this host: its models, how hard each can think, and its modes; and the check of what
// a prompt names, because codex takes unknown names and fails later, or ignores them.
import type { AgentKindRecord, ModelChoice, ModelListing } from "@hawser/contract";
import { NotOffered } from "../driver.ts";
import type { Config, Mode, Model } from "./protocol.ts";

export interface Offer {
  models: Omit<ModelListing, "agentKind">;
  options: AgentKindRecord["options"];
  modes: string[];
  /** How hard each model thinks unless told otherwise. */
  efforts: Map<string, string | null>;
}

export function offerOf(config: Config, listed: Model[], modes: string[]): Offer {
  const providerId = config.model_provider ?? "openai";
  const models = listed
    .filter(({ hidden }) => !hidden)
    .map(({ model, supportedReasoningEfforts }) => ({
      modelId: model,
      variants: supportedReasoningEfforts.map(({ reasoningEffort }) => reasoningEffort),
    }));
  const efforts = new Map<string, string | null>(
    listed.map(({ model, defaultReasoningEffort }) => [model, defaultReasoningEffort]),
  );
  // One that only the host's own provider has; codex's list is its maker's.
  const own = config.model;
  if (own && !models.some(({ modelId }) => modelId === own)) {
    models.unshift({ modelId: own, variants: [] });
  }
  const modelId = own ?? listed.find(({ isDefault }) => isDefault)?.model ?? models[0]?.modelId;
  if (modelId !== undefined && config.model_reasoning_effort) {
    efforts.set(modelId, config.model_reasoning_effort);
  }
  const variants = [...new Set(models.flatMap((model) => model.variants))];
  return {
    models: {
      providers: [{ providerId, models }],
      defaultModel: modelId === undefined ? null : { providerId, modelId },
    },
    options: [
      {
        id: "effort",
        name: "Reasoning effort",
        values: variants,
        default: (modelId !== undefined && efforts.get(modelId)) || null,
      },
    ],
    modes,
    efforts,
  };
}

export interface Choice {
  model: string;
  effort: string | null;
  mode: Mode;
}

/** Everything a turn must say, because codex keeps what it was told for the next one. Throws NotOffered. */
export function choose(
  { models, modes, efforts }: Offer,
  asked: { model: ModelChoice | null; agent: string | null; options: Record<string, string> },
): Choice {
  const choice = asked.model ?? models.defaultModel;
  if (!choice) throw new NotOffered("model", "Codex has no model on this host.");
  const { providerId, modelId } = choice;
  const provider = models.providers.find((one) => one.providerId === providerId);
  const model = provider?.models.find((one) => one.modelId === modelId);
  if (!model) {
    const message = `Codex has no model ${providerId}/${modelId} on this host. list_models names them.`;
    throw new NotOffered("model", message);
  }
  const mode = asked.agent ?? "default";
  if (!modes.includes(mode)) {
    throw new NotOffered("agent", `Codex has no mode ${mode}. It has ${modes.join(", ")}.`);
  }
  const { effort, ...others } = asked.options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new NotOffered("options", `Codex has no option ${unknown}. It has effort.`);
  }
  if (effort !== undefined && !model.variants.includes(effort)) {
    const offered = model.variants.length > 0 ? model.variants.join(", ") : "none";
    throw new NotOffered("options", `${modelId} has no effort ${effort}. It has: ${offered}.`);
  }
  return { model: modelId, effort: effort ?? efforts.get(modelId) ?? null, mode: mode as Mode };
}
