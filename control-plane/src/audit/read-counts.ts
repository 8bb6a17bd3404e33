// Counts reads per key, action and hour. Counts are gathered in memory and written every few
// seconds and at shutdown: a node that is killed loses at most the last few seconds of counts,
// which is the price of not writing a row for every read.
import type { SystemSql } from "../postgres/statement.ts";
import { addReads } from "./store.ts";

export interface ReadCounts {
  count(caller: { organizationId: string; apiKeyId: string }, action: string): void;
  flush(): Promise<void>;
}

export function createReadCounts(system: SystemSql): ReadCounts {
  let counts = new Map<string, Count>();
  const add = ({ organizationId, apiKeyId, action, calls }: Count) => {
    const key = `${apiKeyId} ${action}`;
    const known = counts.get(key);
    if (known) known.calls += calls;
    else counts.set(key, { organizationId, apiKeyId, action, calls });
  };
  return {
    count: ({ organizationId, apiKeyId }, action) =>
      add({ organizationId, apiKeyId, action, calls: 1 }),
    async flush() {
      if (counts.size === 0) return;
      const rows = [...counts.values()];
      counts = new Map();
      try {
        await system.rows(
          addReads,
          rows.map((row) => row.organizationId),
          rows.map((row) => row.apiKeyId),
          rows.map((row) => row.action),
          rows.map((row) => row.calls),
        );
      } catch (error) {
        rows.forEach(add);
        throw error;
      }
    },
  };
}

interface Count {
  organizationId: string;
  apiKeyId: string;
  action: string;
  calls: number;
}
