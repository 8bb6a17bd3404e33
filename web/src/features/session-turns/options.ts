// Which values the options of an agent kind have with a model.
import type { AgentKind } from "@hawser/client";

type Option = AgentKind["options"][number];
type Model = { providerId: string; modelId: string };

/**
 * Options with at least one value. One option chooses among a model's variants: with a model that is known, it has
 * those alone.
 */
export function optionsWith(
  { options, variants }: Pick<AgentKind, "options" | "variants">,
  model: Model | undefined,
): Option[] {
  const all = new Set(variants.flatMap((each) => each.variants));
  const own = variants.find(
    ({ providerId, modelId }) => providerId === model?.providerId && modelId === model.modelId,
  );
  return options
    .map((option) => {
      const isVariant = all.size > 0 && option.values.some((value) => all.has(value));
      if (!isVariant || model === undefined) return option;
      return {
        ...option,
        values: option.values.filter((value) => own?.variants.includes(value)),
      };
    })
    .filter(({ values }) => values.length > 0);
}
