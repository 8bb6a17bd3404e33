// Checks the keys of open streams every few seconds, so that a revoked key is cut off soon, even if it only
// listens. All keys are checked at the same moment: their lookups then share one query.
import type { Refusal } from "@hawser/contract";

export interface KeyWatch {
  /** Calls `end` at most once, and never after the returned function was called. */
  watch(refusalOfKey: () => Promise<Refusal | undefined>, end: () => void): () => void;
}

/** While the database is unreachable no key can be checked; a valid key stays valid for this long. */
const timing = { everyMs: 4_000, unjudgedMs: 60_000 };

export function createKeyWatch({ everyMs, unjudgedMs } = timing): KeyWatch {
  const checks = new Set<() => Promise<void>>();
  let timer: NodeJS.Timeout | undefined;

  function add(check: () => Promise<void>): void {
    checks.add(check);
    timer ??= setInterval(() => {
      for (const each of checks) void each();
    }, everyMs);
  }

  function remove(check: () => Promise<void>): void {
    checks.delete(check);
    if (checks.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    watch(refusalOfKey, end) {
      let isOver = false;
      let isChecking = false;
      let goodAt = performance.now();
      const check = async () => {
        // One check at a time: if the database hangs, several checks would wait, and each would end the
        // stream.
        if (isChecking) return;
        isChecking = true;
        const refusal = await refusalOfKey();
        isChecking = false;
        if (isOver) return;
        const now = performance.now();
        if (!refusal) goodAt = now;
        else if (refusal.code !== "unavailable" || now - goodAt >= unjudgedMs) {
          stop();
          end();
        }
      };
      const stop = () => {
        isOver = true;
        remove(check);
      };
      add(check);
      return stop;
    },
  };
}
