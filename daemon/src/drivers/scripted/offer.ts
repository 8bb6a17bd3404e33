// What the scripted agent offers: models, modes, options, commands and prices.
import type { Usage } from "@hawser/contract";
import type { Offer } from "../offer.ts";

export const offer: Offer = {
  models: {
    providers: [
      {
        providerId: "scripted",
        models: [
          { modelId: "script-1", variants: ["low", "high"] },
          { modelId: "script-2", variants: [] },
        ],
      },
    ],
    defaultModel: { providerId: "scripted", modelId: "script-1" },
  },
  modes: ["build", "plan", "general"],
  defaultMode: "build",
  options: [{ id: "variant", name: "Variant", values: ["low", "high"], default: null }],
  variantOption: "variant",
};

/** Slash commands, each with the prompt that it sends. */
export const commands: Record<string, string> = { greet: "Greet them: $ARGUMENTS" };

/** US dollars; the prices are per million tokens. */
export function priceOf({ inputTokens, outputTokens, cacheReadTokens }: Usage): number {
  return (inputTokens * 3 + outputTokens * 15 + cacheReadTokens * 0.3) / 1_000_000;
}
