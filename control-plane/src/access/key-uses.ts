// When API keys were last used. Uses are noted in memory and written together every few seconds, each key
// at most once in five minutes, however busy it is and on however many nodes.
import type { Caller } from "../dispatch/caller.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { noteKeyUses } from "./store.ts";

type UsedKey = Pick<Caller, "organizationId" | "apiKeyId">;

export interface KeyUses {
  note(key: UsedKey): void;
  /** Writes what was noted since the last call. If that fails, the notes are kept. */
  flush(): Promise<void>;
}

const everyMs = 5 * 60_000;

export function createKeyUses(system: SystemSql, now: () => number = Date.now): KeyUses {
  let used = new Map<string, UsedKey>();
  /** Keys whose use is written, with the time from which on another use counts. */
  const written = new Map<string, number>();

  return {
    note(key) {
      if ((written.get(key.apiKeyId) ?? 0) <= now()) used.set(key.apiKeyId, key);
    },
    async flush() {
      for (const [id, until] of written) if (until <= now()) written.delete(id);
      if (used.size === 0) return;
      const noted = used;
      used = new Map();
      const keys = [...noted.values()];
      try {
        const skipped = await system.rows(
          noteKeyUses,
          keys.map(({ organizationId }) => organizationId),
          keys.map(({ apiKeyId }) => apiKeyId),
        );
        const until = now() + everyMs;
        for (const { apiKeyId } of keys) written.set(apiKeyId, until);
        for (const { api_key_id: id } of skipped) {
          written.delete(id);
          used.set(id, noted.get(id)!);
        }
      } catch (error) {
        for (const [id, key] of noted) used.set(id, key);
        throw error;
      }
    },
  };
}
