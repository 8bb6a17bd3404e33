// Codex counts the tokens of a whole thread; ours are those of one call of the model.
import type { Usage } from "@hawser/contract";
import { unused } from "./cursor.ts";
import type { TokenCount } from "./protocol.ts";

/**
 * What was used between two counts. Nothing when that is nothing: codex tells a count again after an
 * interrupt or a resume, and a smaller one after it has gone back in its history.
 */
export function usedBetween(before: TokenCount, after: TokenCount): Usage | undefined {
  const more = (name: keyof TokenCount) => after[name] - before[name];
  const input = more("inputTokens");
  const outputTokens = more("outputTokens");
  if (input < 0 || outputTokens < 0 || input + outputTokens === 0) return undefined;
  const cacheReadTokens = Math.max(0, more("cachedInputTokens"));
  const cacheWriteTokens = Math.max(0, more("cacheWriteInputTokens"));
  // Codex counts these as input too.
  const inputTokens = Math.max(0, input - cacheReadTokens - cacheWriteTokens);
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens };
}

/** What one call of the model used, by codex's count of that call alone. */
export const usedIn = (last: TokenCount): Usage | undefined => usedBetween(unused, last);

/** Only what is kept of a count. */
export const countOf = (total: TokenCount): TokenCount => ({
  inputTokens: total.inputTokens,
  cachedInputTokens: total.cachedInputTokens,
  cacheWriteInputTokens: total.cacheWriteInputTokens,
  outputTokens: total.outputTokens,
});
