// The periodic sweep of turns to continue, on every node. The database decides which node works on what, so any
// number of nodes can sweep, and any of them can stop at any moment.
import { createHeldWork } from "../leases/held-work.ts";
import { startRounds } from "../leases/rounds.ts";
import type { Log } from "../log.ts";
import { continueTurn, type ContinueParts } from "./continue.ts";
import * as store from "./store.ts";

export interface ContinuationSweep extends Disposable {
  /** Begins to work on turns, as many as the node may. */
  pickUp(): Promise<void>;
  /** Ends when the turns that this node works on have moved on. */
  settled(): Promise<void>;
}

export interface ContinuationSweepParts extends ContinueParts {
  nodeId: string;
  log: Log;
}

/** Turns that one node works on at once. */
const mostHeld = 20;

export function createContinuationSweep(parts: ContinuationSweepParts): ContinuationSweep {
  const { system, nodeId, log } = parts;
  const held = createHeldWork<store.ContinuationRow>({
    name: "turns to continue",
    work: (row) => continueTurn(parts, row),
    renew,
    idsOf: ({ continuation_id }) => ({ continuationId: continuation_id }),
    log,
  });

  async function renew(rows: store.ContinuationRow[]): Promise<void> {
    const column = (name: "organization_id" | "session_id" | "turn_id" | "fence") =>
      rows.map((row) => row[name]);
    const keys = [column("organization_id"), column("session_id"), column("turn_id")];
    await system.rows(store.renewLeases, ...keys, column("fence"));
  }

  return {
    async pickUp() {
      const free = mostHeld - held.rows().length;
      if (free <= 0) return;
      for (const row of await system.rows(store.pickUp, nodeId, free)) held.hold(row);
    },
    settled: () => held.settled(),
    [Symbol.dispose]: () => held[Symbol.dispose](),
  };
}

/** Sweeps from now on. `isAble`: false while this node cannot reach hosts. */
export function startContinuing(parts: ContinuationSweepParts & { isAble: () => boolean }): {
  close(): Promise<void>;
} {
  const sweep = createContinuationSweep(parts);
  const pickUp = async () => {
    if (parts.isAble()) await sweep.pickUp();
  };
  const rounds = startRounds("turns to continue", [pickUp], parts.log);
  return {
    async close() {
      await rounds.close(sweep.settled());
      sweep[Symbol.dispose]();
    },
  };
}
