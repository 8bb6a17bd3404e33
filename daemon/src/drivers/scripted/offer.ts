// What the scripted agent offers: models, modes, options and prices, and the check of what a prompt names.
import type { ModelListing, Usage } from "@hawser/contract";
import { NotOffered, type SessionSettings } from "../driver.ts";

export const models: Omit<ModelListing, "agentKind"> = {
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
};

export const modes = ["build", "plan", "general"];

export const options = [{ id: "variant", name: "Variant", values: ["low", "high"], default: null }];

/** Its slash commands, each with the prompt that it stands for. */
export const commands: Record<string, string> = { greet: "Greet them: $ARGUMENTS" };

export function checkOffered(
  asked: Pick<SessionSettings, "model" | "options"> & { agent?: string | null },
): void {
  const { model, agent } = asked;
  const provider = models.providers.find((one) => one.providerId === model?.providerId);
  if (model !== null && !provider?.models.some((one) => one.modelId === model.modelId)) {
    const name = `${model.providerId}/${model.modelId}`;
    throw new NotOffered("model", `The agent has no model ${name}. list_models names them.`);
  }
  if (agent !== undefined && agent !== null && !modes.includes(agent)) {
    throw new NotOffered("agent", `The agent has no mode ${agent}.`);
  }
  for (const [id, value] of Object.entries(asked.options)) {
    if (!options.some((option) => option.id === id && option.values.includes(value))) {
      throw new NotOffered("options", `The agent has no option ${id} with the value ${value}.`);
    }
  }
}

/** US dollars; the prices are per million tokens. */
export function priceOf({ inputTokens, outputTokens, cacheReadTokens }: Usage): number {
  return (inputTokens * 3 + outputTokens * 15 + cacheReadTokens * 0.3) / 1_000_000;
}
