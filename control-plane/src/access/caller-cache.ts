// The callers of keys and sign-ins, each for a few seconds, so that a busy one costs no query. One that was ended
// therefore stops working within that time on every node, and immediately on the node that ended it.
import type { Caller } from "../dispatch/caller.ts";

const rememberedMs = 5_000;
const mostRemembered = 10_000;

export interface FoundCaller {
  caller: Caller;
  /** Null if it does not expire. */
  expiresInMs: number | null;
}

export interface CallerCache {
  /** `id`: a digest of what the caller has sent. `fresh`: looks the caller up, even if it is cached. */
  find(
    id: string,
    options: { fresh: boolean },
    lookUp: () => Promise<FoundCaller | undefined>,
  ): Promise<Caller | undefined>;
  /** Drops callers, who are looked up again at their next call. */
  forget(isGone: (caller: Caller) => boolean): void;
}

export function createCallerCache(now: () => number = Date.now): CallerCache {
  const remembered = new Map<string, { caller: Caller; until: number }>();
  // A lookup that began before the cache was dropped must not be cached after it.
  let forgotten = 0;

  return {
    async find(id, { fresh }, lookUp) {
      const known = remembered.get(id);
      if (!fresh && known && known.until > now()) return known.caller;
      const asked = now();
      const forgottenBefore = forgotten;
      const found = await lookUp();
      if (!found) {
        remembered.delete(id);
        return undefined;
      }
      if (forgotten !== forgottenBefore) return found.caller;
      if (remembered.size >= mostRemembered) remembered.clear();
      const lives = Math.min(rememberedMs, found.expiresInMs ?? rememberedMs);
      remembered.set(id, { caller: found.caller, until: asked + lives });
      return found.caller;
    },
    forget(isGone) {
      forgotten += 1;
      for (const [id, { caller }] of remembered) if (isGone(caller)) remembered.delete(id);
    },
  };
}
