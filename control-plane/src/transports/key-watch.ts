// The key of a stream that is open, looked at again every few seconds: a revoked key is out soon, also
// where it only listens.
import type { Refusal } from "@hawser/contract";

/** While the database is away no key can be judged; then one that was good stays good, for so long. */
const timing = { everyMs: 2_500, unjudgedMs: 60_000 };

/** Calls `end` at most once, and not after the returned function was called. */
export function watchKey(
  refusalOfKey: () => Promise<Refusal | undefined>,
  end: () => void,
  { everyMs, unjudgedMs } = timing,
): () => void {
  let isOver = false;
  let goodAt = performance.now();
  // One look after the other: of a database that hangs, several would wait, and each would end it.
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
