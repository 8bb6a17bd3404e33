// Deliveries with a wrong signature, as the audit trail shows them: with their number, without an entry for each.
import { randomUUID } from "node:crypto";
import { formatId } from "@hawser/contract";
import { insertEntry } from "../audit/store.ts";
import type { SystemDatabase, SystemTransaction } from "../postgres/database.ts";
import * as store from "./store.ts";

type Trigger = Pick<store.AddressedRow, "organization_id" | "schedule_id">;

/**
 * Counts forged deliveries. Those that arrive while an earlier one of their trigger is being counted are counted
 * together, so a flood for one trigger uses one database connection.
 */
export function createForgedCount(database: SystemDatabase) {
  /** By trigger: the last count, which is under way or waits for the one before. */
  const last = new Map<string, { number: number; isUnderWay: boolean; done: Promise<void> }>();

  /** Returns once the delivery is counted. */
  return function countForged(trigger: Trigger, callId: string): Promise<void> {
    const { schedule_id } = trigger;
    const before = last.get(schedule_id);
    if (before && !before.isUnderWay) {
      before.number++;
      return before.done;
    }
    const count = { number: 1, isUnderWay: before === undefined, done: Promise.resolve() };
    last.set(schedule_id, count);
    count.done = add();
    return count.done;

    async function add(): Promise<void> {
      await before?.done.catch(() => undefined);
      count.isUnderWay = true;
      try {
        await write(database, trigger, count.number, callId);
      } finally {
        if (last.get(schedule_id) === count) last.delete(schedule_id);
      }
    }
  };
}

function write(
  database: SystemDatabase,
  trigger: Trigger,
  number: number,
  callId: string,
): Promise<void> {
  const { organization_id, schedule_id } = trigger;
  return database.systemTransaction(async (tx) => {
    const due = await tx.first(store.countForged, organization_id, schedule_id, number);
    if (due) enter(tx, trigger, due.count, callId);
  });
}

/** Writes the entries for deliveries that no entry counts a minute after the last one. */
export function noteForged(database: SystemDatabase): Promise<void> {
  return database.systemTransaction(async (tx) => {
    for (const row of await tx.rows(store.takeForged)) enter(tx, row, row.count, randomUUID());
  });
}

function enter(
  tx: SystemTransaction,
  { organization_id, schedule_id }: Trigger,
  count: number,
  callId: string,
): void {
  const input = { triggerId: formatId("trigger", schedule_id), count };
  const who = [organization_id, null, null, null] as const;
  tx.later(insertEntry, ...who, "receive_delivery", "unauthenticated", input, {}, callId, null);
}
