// The steps of a rotation, and why one is refused.
import { ConfigError } from "../config.ts";
import { refreshKeysEveryMs } from "./keyring.ts";

export type RotationStep = "begin" | "switch" | "finish";

/** The refusal of a step that does not come next. */
export const underWay = (next: RotationStep) =>
  new ConfigError(`A rotation of this key is under way. Its next step is "${next}".`);

export const notBegun = () =>
  new ConfigError('No rotation of this key is under way. Start with "begin".');

/**
 * Throws a ConfigError if nodes may not have read the keys since the last step. Until then they may use
 * the old key, for example to pair a host.
 */
export function refuseTooSoon(since: string, now: Date): void {
  const passedMs = now.getTime() - Date.parse(since);
  const neededMs = 5 * refreshKeysEveryMs;
  if (passedMs >= neededMs) return;
  const leftSeconds = Math.ceil((neededMs - passedMs) / 1000);
  throw new ConfigError(
    `The last step was a moment ago, and nodes may not know it yet. Run this again in ${leftSeconds} s.`,
  );
}
