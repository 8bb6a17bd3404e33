// Token usage of one call of the model. Codex counts the tokens of the whole thread.
import type { Usage } from "@hawser/contract";
import { unused } from "./cursor.ts";
import type { TokenCount } from "./protocol.ts";

/**
 * Usage between two counts; undefined if there is none. Codex repeats a count after an interrupt or a
 * resume, and sends a smaller one after a revert.
 */
export function usedBetween(before: TokenCount, after: TokenCount): Usage | undefined {
  const more = (name: keyof TokenCount) => after[name] - before[name];
  const input = more("inputTokens");
  const outputTokens = more("outputTokens");
  if (input < 0 || outputTokens < 0 || input + outputTokens === 0) return undefined;
  const cacheReadTokens = Math.max(0, more("cachedInputTokens"));
  const cacheWriteTokens = Math.max(0, more("cacheWriteInputTokens"));
  // Codex includes cached tokens in the input.
  const inputTokens = Math.max(0, input - cacheReadTokens - cacheWriteTokens);
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens };
}

/** Usage of one call of the model, from codex's count of that call. */
export const usedIn = (last: TokenCount): Usage | undefined => usedBetween(unused, last);

/** How full the context is after a call of the model; undefined if codex does not know how large it is. */
export function contextOf(
  { inputTokens, outputTokens }: TokenCount,
  windowTokens: number | null | undefined,
): { context: { usedTokens: number; windowTokens: number } } | undefined {
  if (!windowTokens) return undefined;
  return { context: { usedTokens: inputTokens + outputTokens, windowTokens } };
}

/** The fields of a count that the cursor stores. */
export const countOf = (total: TokenCount): TokenCount => ({
  inputTokens: total.inputTokens,
  cachedInputTokens: total.cachedInputTokens,
  cacheWriteInputTokens: total.cacheWriteInputTokens,
  outputTokens: total.outputTokens,
});
