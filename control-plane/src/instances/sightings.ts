// When hosts were last seen. A heartbeat is noted in memory, and all that were noted are written together
// every few seconds. A node that is killed loses the last few seconds; the next heartbeat makes up for it.
import type { SystemSql } from "../postgres/statement.ts";
import { noteSightings } from "./sighting-store.ts";

/** A host by the stored ids of its instance. */
export interface SeenHost {
  organizationId: string;
  instanceId: string;
}

export interface Sightings {
  note(host: SeenHost): void;
  /** Writes what was noted since the last call. If that fails, the notes are kept. */
  flush(): Promise<void>;
}

export function createSightings(system: SystemSql): Sightings {
  let noted = new Map<string, SeenHost & { at: number }>();
  return {
    note({ organizationId, instanceId }) {
      noted.set(instanceId, { organizationId, instanceId, at: performance.now() });
    },
    async flush() {
      if (noted.size === 0) return;
      const written = noted;
      noted = new Map();
      try {
        await system.rows(noteSightings, ...sightingValues([...written.values()]));
      } catch (error) {
        for (const [id, host] of written) if (!noted.has(id)) noted.set(id, host);
        throw error;
      }
    },
  };
}

/** The parameters of `noteSightings`. A host without a time is seen now. */
export function sightingValues(hosts: readonly (SeenHost & { at?: number })[]): unknown[] {
  const now = performance.now();
  return [
    hosts.map(({ organizationId }) => organizationId),
    hosts.map(({ instanceId }) => instanceId),
    hosts.map(({ at = now }) => now - at),
  ];
}
