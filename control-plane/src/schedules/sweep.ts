// The periodic sweep of schedules, on every node: claims the times that are due, works on runs that nobody works
// on, and watches the sessions of those under way. The database decides what is due and which node works on what,
// so any number of nodes can sweep, and any of them can stop at any moment.
import type { Log } from "../log.ts";
import type { SystemDatabase } from "../postgres/database.ts";
import * as claims from "./claim-store.ts";
import { slotOf } from "./due-slot.ts";
import { watchRuns } from "./outcome.ts";
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
const sweepEveryMs = 1_000;
/** Nodes sweep at different moments, so that most times are found by one of them. */
const mostJitterMs = 250;
/** Three renewals fit into a lease. */
const renewEveryMs = 4_000;
const longestCloseMs = 2_000;

export function createSweep(parts: SweepParts): Sweep & Disposable {
  const { database, nodeId, log, observeClaim } = parts;
  const { system } = database;
  const held = new Map<store.RunRow, Promise<void>>();
  const renewing = setInterval(() => void renew(), renewEveryMs);

  async function claim(): Promise<number> {
    const due = await system.rows(claims.selectDue, mostClaimed);
    if (due.length === 0) return 0;
    const slots = firstBytes(due).flatMap(slotIfKnown);
    const claimed = await database.systemTransaction(async (tx) => {
      const organizations = slots.map(({ organization_id }) => organization_id);
      const schedules = slots.map(({ schedule_id }) => schedule_id);
      const locked = await tx.rows(claims.lockDue, organizations, schedules);
      const ids = new Set(locked.map(({ schedule_id }) => schedule_id));
      const mine = slots.filter(({ schedule_id }) => ids.has(schedule_id));
      return mine.length > 0 ? tx.rows(claims.claimSlots, JSON.stringify(mine)) : [];
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
    const free = mostHeld - held.size;
    if (free <= 0) return 0;
    const counts = Map.groupBy(held.keys(), ({ organization_id }) => organization_id);
    const organizations = [...counts.keys()];
    const numbers = [...counts.values()].map((runs) => runs.length);
    const limits = [organizations, numbers, mostOfOrganization, free, free - reserved] as const;
    const runs = await system.rows(store.pickUp, nodeId, ...limits);
    for (const run of runs) held.set(run, work(run));
    return runs.length;
  }

  async function work(run: store.RunRow): Promise<void> {
    try {
      await workOn({ ...parts, system }, run);
    } catch (error) {
      // Its lease ends soon, and then a node picks it up again.
      log.warn({ err: error, runId: run.run_id }, "the work on a run of a schedule failed");
    } finally {
      held.delete(run);
    }
  }

  async function renew(): Promise<void> {
    const runs = [...held.keys()];
    if (runs.length === 0) return;
    const column = (name: "organization_id" | "schedule_id" | "run_id" | "fence") =>
      runs.map((run) => run[name]);
    const keys = [column("organization_id"), column("schedule_id"), column("run_id")];
    await system.rows(store.renewRuns, ...keys, column("fence")).catch((error: unknown) => {
      log.warn(
        { err: error },
        "the leases of runs of schedules were not renewed; it is tried again",
      );
    });
  }

  return {
    claim,
    pickUp,
    async watch() {
      for (let batch = 0; batch < mostBatches && (await watchRuns(system)); batch++);
    },
    async settled() {
      await Promise.allSettled(held.values());
    },
    [Symbol.dispose]: () => clearInterval(renewing),
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
  const timers = new Map<() => Promise<void>, NodeJS.Timeout>();
  // Each part by itself: one that fails or takes long must not keep the others from their work.
  for (const part of [claimDue, pickUpRuns, () => sweep.watch()]) again(part);

  const mayStart = () => !isClosed && parts.isAble();

  function again(part: () => Promise<void>): void {
    if (isClosed) return;
    const waitMs = sweepEveryMs + Math.random() * mostJitterMs;
    timers.set(
      part,
      setTimeout(() => void round(part), waitMs),
    );
  }

  async function round(part: () => Promise<void>): Promise<void> {
    try {
      await part();
    } catch (error) {
      parts.log.warn({ err: error }, "the sweep of schedules failed");
    }
    again(part);
  }

  async function claimDue(): Promise<void> {
    while (mayStart() && (await sweep.claim()) > 0);
  }

  async function pickUpRuns(): Promise<void> {
    if (mayStart()) await sweep.pickUp();
  }

  return {
    async close() {
      isClosed = true;
      for (const timer of timers.values()) clearTimeout(timer);
      const patience = new Promise((resolve) => setTimeout(resolve, longestCloseMs).unref());
      await Promise.race([sweep.settled(), patience]);
      sweep[Symbol.dispose]();
    },
  };
}
