// The periodic sweep of schedules and triggers, on every node: claims the times that are due, works on runs that
// nobody works on, and watches the sessions of those under way. The database decides what is due and which node
// works on what, so any number of nodes can sweep, and any of them can stop at any moment.
import { createHeldWork } from "../leases/held-work.ts";
import { startRounds } from "../leases/rounds.ts";
import type { Log } from "../log.ts";
import type { SystemDatabase } from "../postgres/database.ts";
import { query } from "../postgres/statement.ts";
import * as claims from "./claim-store.ts";
import { slotOf } from "./due-slot.ts";
import { watchRuns } from "./outcome.ts";
import { releaseWaiting, skipWaiting } from "./release-store.ts";
import * as store from "./run-store.ts";
import { workOn, type RunParts } from "./run.ts";

export interface Sweep {
  /** Claims what is due. Returns how many times were claimed. */
  claim(): Promise<number>;
  /** Begins to work on runs, as many as the node may. Returns how many. */
  pickUp(): Promise<number>;
  watch(): Promise<void>;
  /** Ends when the runs that this node works on have moved on. */
  settled(): Promise<void>;
}

export interface SweepParts extends Omit<RunParts, "system"> {
  database: Pick<SystemDatabase, "system" | "systemTransaction">;
  nodeId: string;
  /** Called for each claimed time with how late it is. */
  observeClaim: (secondsLate: number) => void;
  log: Log;
}

const mostClaimed = 500;
/** A claim copies the prompts of its schedules. */
const mostClaimedBytes = 8 * 1024 * 1024;
/** Runs that one node works on at once, in total and of one organization. */
const mostHeld = 100;
const mostOfOrganization = 50;
/** Places for organizations for which the node works on no run yet. */
const reserved = 20;
/** Batches of watched runs in one round. */
const mostBatches = 4;

export function createSweep(parts: SweepParts): Sweep & Disposable {
  const { database, nodeId, log, observeClaim } = parts;
  const { system } = database;
  const held = createHeldWork<store.RunRow>({
    name: "runs of schedules",
    work: (run) => workOn({ ...parts, system }, run),
    renew,
    idsOf: ({ run_id }) => ({ runId: run_id }),
    log,
  });

  async function claim(): Promise<number> {
    const due = await system.first(claims.selectIsDue);
    if (!due!.is_due) return 0;
    const claimed = await database.systemTransaction(async (tx) => {
      const slots = firstBytes(await tx.rows(claims.lockDue, mostClaimed)).flatMap(slotIfKnown);
      return slots.length > 0 ? tx.rows(claims.claimSlots, JSON.stringify(slots)) : [];
    });
    for (const { seconds_late } of claimed) observeClaim(seconds_late);
    return claimed.length;
  }

  /** Empty if the times of a schedule cannot be computed. It must not keep the others from running. */
  function slotIfKnown(row: claims.DueRow): claims.Slot[] {
    try {
      return [slotOf(row)];
    } catch (error) {
      log.error({ err: error, scheduleId: row.schedule_id }, "a schedule has no next time");
      return [];
    }
  }

  async function pickUp(): Promise<number> {
    const free = mostHeld - held.rows().length;
    if (free <= 0) return 0;
    const counts = Map.groupBy(held.rows(), ({ organization_id }) => organization_id);
    const organizations = [...counts.keys()];
    const numbers = [...counts.values()].map((runs) => runs.length);
    const limits = [organizations, numbers, mostOfOrganization, free, free - reserved] as const;
    const [, , runs] = await system.together(
      query(skipWaiting),
      query(releaseWaiting),
      query(store.pickUp, nodeId, ...limits),
    );
    for (const run of runs) held.hold(run);
    return runs.length;
  }

  async function renew(runs: store.RunRow[]): Promise<void> {
    const column = (name: "organization_id" | "schedule_id" | "run_id" | "fence") =>
      runs.map((run) => run[name]);
    const keys = [column("organization_id"), column("schedule_id"), column("run_id")];
    await system.rows(store.renewRuns, ...keys, column("fence"));
  }

  return {
    claim,
    pickUp,
    async watch() {
      for (let batch = 0; batch < mostBatches && (await watchRuns(system)); batch++);
    },
    settled: () => held.settled(),
    [Symbol.dispose]: () => held[Symbol.dispose](),
  };
}

/** The first schedules whose prompts fit into one claim together; at least one. */
function firstBytes(due: claims.DueRow[]): claims.DueRow[] {
  let bytes = 0;
  const end = due.findIndex((row, index) => (bytes += row.bytes) > mostClaimedBytes && index > 0);
  return end === -1 ? due : due.slice(0, end);
}

/** Sweeps from now on. `isAble`: false while this node cannot reach hosts. */
export function startSweeping(parts: SweepParts & { isAble: () => boolean }): {
  close(): Promise<void>;
} {
  const sweep = createSweep(parts);
  let isClosed = false;
  const mayStart = () => !isClosed && parts.isAble();

  async function claimDue(): Promise<void> {
    while (mayStart() && (await sweep.claim()) > 0);
  }

  async function pickUpRuns(): Promise<void> {
    if (mayStart()) await sweep.pickUp();
  }

  const rounds = startRounds("schedules", [claimDue, pickUpRuns, () => sweep.watch()], parts.log);
  return {
    async close() {
      isClosed = true;
      await rounds.close(sweep.settled());
      sweep[Symbol.dispose]();
    },
  };
}
