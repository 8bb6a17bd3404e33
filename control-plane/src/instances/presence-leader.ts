// The node that leads presence: it holds a lease, compares presence with the lists of the NATS servers,
// and gives up hosts that stay away. Every node can ask it to compare; no node waits for it.
import { comparePresenceSubject } from "@hawser/host-protocol";
import type { Fabric } from "../fabric/connection.ts";
import type { Log } from "../log.ts";
import type { SystemSql } from "../postgres/statement.ts";
import type { Presence } from "./presence.ts";
import { releaseLease, takeLease } from "./presence-store.ts";

export interface PresenceLeader {
  /** Lets the leader compare, on whichever node it is. Returns at once. */
  compareSoon(): void;
  /** Lets another node lead. */
  close(): Promise<void>;
}

interface LeaderParts {
  system: SystemSql;
  fabric: Fabric;
  presence: Pick<Presence, "compare" | "sweep">;
  nodeId: string;
  log: Log;
}

const lease = "presence";
const sweepEveryMs = 2_000;
const leaseSeconds = (2 * sweepEveryMs) / 1000;
const compareEveryMs = 60_000;
/** A server that answers no comparison, and is known to no other server, is asked once more after this. */
const secondLookMs = 2_000;

export function leadPresence({
  system,
  fabric,
  presence,
  nodeId,
  log,
}: LeaderParts): PresenceLeader {
  let fence: number | undefined;
  let isClosed = false;
  let secondLook: NodeJS.Timeout | undefined;
  /** Requests for the lease that are under way. */
  const requests = new Set<Promise<unknown>>();

  async function asLeader(work: () => Promise<void>): Promise<void> {
    const request = system.first(takeLease, lease, nodeId, leaseSeconds);
    requests.add(request);
    const held = await request.finally(() => requests.delete(request));
    const isElected = held !== undefined && held.fence !== fence;
    fence = held?.fence;
    if (held === undefined) return;
    // No node has compared since the previous leader stopped, and events may be lost with it.
    if (isElected && work !== compare) start("presence comparison", compare);
    await work();
  }

  async function compare(): Promise<void> {
    const { isDoubtful } = await presence.compare();
    if (!isDoubtful || isClosed) return;
    clearTimeout(secondLook);
    secondLook = setTimeout(startComparison, secondLookMs);
  }

  function start(what: string, work: () => Promise<void>): void {
    if (isClosed || !fabric.isConnected()) return;
    void work().catch((error: unknown) => log.warn({ err: error }, `${what} failed`));
  }

  const startSweep = () => start("presence sweep", () => asLeader(() => presence.sweep()));
  const startComparison = () => start("presence comparison", () => asLeader(compare));

  const timers = [
    setInterval(startSweep, sweepEveryMs),
    setInterval(startComparison, compareEveryMs),
  ];
  const unsubscribe = fabric.subscribe(comparePresenceSubject, {}, startComparison);
  startSweep();

  return {
    compareSoon: () => fabric.publish(comparePresenceSubject, ""),
    async close() {
      isClosed = true;
      timers.forEach(clearInterval);
      clearTimeout(secondLook);
      unsubscribe();
      // A request that arrives after the release would hold the lease again.
      await Promise.allSettled(requests);
      await system
        .rows(releaseLease, lease, nodeId)
        .catch((error: unknown) => log.warn({ err: error }, "the lease was not released"));
    },
  };
}
