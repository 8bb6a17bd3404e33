// Checks the key of an open stream every few seconds, so that a revoked key is cut off soon, even if it
// only listens.
import type { Refusal } from "@hawser/contract";

/** While the database is unreachable no key can be checked; a valid key stays valid for this long. */
const timing = { everyMs: 2_500, unjudgedMs: 60_000 };

/** Calls `end` at most once, and never after the returned function was called. */
export function watchKey(
  refusalOfKey: () => Promise<Refusal | undefined>,
  end: () => void,
  { everyMs, unjudgedMs } = timing,
): () => void {
  let isOver = false;
  let goodAt = performance.now();
  // Check one after the other: if the database hangs, several checks would wait, and each would end the
  // stream.
  let timer = setTimeout(() => void look(), everyMs);

  async function look(): Promise<void> {
    const refusal = await refusalOfKey();
    if (isOver) return;
    const now = performance.now();
    if (!refusal) goodAt = now;
    else if (refusal.code !== "unavailable" || now - goodAt >= unjudgedMs) {
      isOver = true;
      return end();
    }
    timer = setTimeout(() => void look(), everyMs);
  }

  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
