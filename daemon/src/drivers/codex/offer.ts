// What codex offers on this host (models, their reasoning efforts, modes), and the settings of a turn that
// are chosen from it.
import { choose, type Offer, type Wanted } from "../offer.ts";
import type { Config, Mode, Model } from "./protocol.ts";

export interface CodexOffer extends Offer {
  /** Default reasoning effort of each model. */
  efforts: Map<string, string | null>;
}

export function offerOf(config: Config, listed: Model[], modes: string[]): CodexOffer {
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
  // Codex lists only its maker's models; the host's configuration may name one of another provider.
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
    defaultMode: "default",
    variantOption: "effort",
    efforts,
  };
}

export interface Choice {
  model: string;
  effort: string | null;
  mode: Mode;
}

/**
 * All settings of a turn, because codex keeps the previous turn's value for any that is left out.
 * Throws NotOffered.
 */
export function chooseSettings(offer: CodexOffer, wanted: Wanted): Choice {
  const { model, mode, options } = choose(offer, wanted);
  const effort = options["effort"] ?? offer.efforts.get(model.modelId) ?? null;
  return { model: model.modelId, effort, mode: mode as Mode };
}
