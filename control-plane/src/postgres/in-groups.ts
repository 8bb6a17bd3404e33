// Combines many small writes into few large ones. Items that arrive while a group is being written form
// the next group. There is no timer, so a single item is as fast as without this.
//
// Guarantee: an item that cannot be written, or that waits for a lock of another transaction, fails or waits
// alone. It delays the other items of its group, and the next group, by less than a second. A group of reads
// takes as long as one statement at most.
import { DatabaseUnavailable, LockTimeout, StatementTimeout } from "./database.ts";

interface Waiting<Item, Result> {
  item: Item;
  arrivedAt: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Larger groups are hardly cheaper per item, and make the next items wait longer. */
const most = 500;
/** A group that fails is split into this many parts: 500 items are split three times, until each is alone. */
const partCount = 8;
/**
 * How long a group may wait for a lock, and how long its parts may. A group that waits has already locked
 * rows that other groups need, so both are short.
 */
const groupLockMs = 150;
const partLockMs = 50;
/** After how long a group is tried again whose rows are all locked, by the groups of other nodes. */
const pauseMs = 100;

/** Counts the statements of one group that timed out in a row while the group is split. */
interface Timeouts {
  inARow: number;
  /** Up to this many can be the fault of one or two items. More mean that the database is slow for everyone. */
  most: number;
  last?: unknown;
}

interface GroupOptions {
  /** How long an item may wait for locks in total. */
  patienceMs?: number;
  /** `work` only reads. */
  isRead?: boolean;
}

/**
 * `work` processes a whole group and returns a result for each item, in their order. It throws LockTimeout
 * if it waits for a lock longer than `lockMs`. If it fails, the group is split until the unfit item stands
 * alone; all items fail only if the database is unreachable, or slow for everyone.
 */
export function inGroups<Item, Result>(
  work: (items: Item[], lockMs: number) => Promise<Result[]>,
  { patienceMs = 4_000, isRead = false }: GroupOptions = {},
): (item: Item) => Promise<Result> {
  type Each = Waiting<Item, Result>;
  let waiting: Each[] = [];
  let isWorking = false;
  /** Items that wait for a lock. They are tried one at a time, beside the groups. */
  const locked: Each[] = [];
  let isTryingLocked = false;

  async function run(group: Each[], lockMs: number, timeouts: Timeouts): Promise<void> {
    if (timeouts.inARow > timeouts.most) return giveUp(group, timeouts.last);
    try {
      await write(group, lockMs);
      timeouts.inARow = 0;
    } catch (error) {
      const isTimeout = error instanceof LockTimeout || error instanceof StatementTimeout;
      if (isTimeout) {
        timeouts.inARow += 1;
        timeouts.last = error;
      }
      if (error instanceof DatabaseUnavailable && (isRead || !isTimeout)) {
        rejectAll(group, error);
      } else if (group.length > 1) {
        await runParts(group, timeouts);
      } else if (error instanceof LockTimeout) {
        locked.push(group[0]!);
        if (!isTryingLocked) void tryLocked();
      } else {
        group[0]!.reject(error);
      }
    }
  }

  function rejectAll(group: Each[], error: unknown): void {
    for (const { reject } of group) reject(error);
  }

  /** A slow database fails the items. Locked items are tried again, as long as they may wait. */
  function giveUp(group: Each[], error: unknown): void {
    const isLock = error instanceof LockTimeout;
    rejectAll(
      group.filter((each) => !isLock || isLate(each)),
      error,
    );
    const again = group.filter((each) => isLock && !isLate(each));
    if (again.length > 0) setTimeout(() => take(again), pauseMs);
  }

  const isLate = ({ arrivedAt }: Each) => performance.now() - arrivedAt > patienceMs;

  async function runParts(group: Each[], timeouts: Timeouts): Promise<void> {
    const size = Math.ceil(group.length / partCount);
    for (let from = 0; from < group.length; from += size) {
      await run(group.slice(from, from + size), partLockMs, timeouts);
    }
  }

  async function write(group: Each[], lockMs: number): Promise<void> {
    const results = await work(
      group.map(({ item }) => item),
      lockMs,
    );
    group.forEach(({ resolve }, index) => resolve(results[index]!));
  }

  async function tryLocked(): Promise<void> {
    isTryingLocked = true;
    for (let each = locked.shift(); each; each = locked.shift()) {
      try {
        await write([each], partLockMs);
      } catch (error) {
        if (error instanceof LockTimeout && !isLate(each)) locked.push(each);
        else each.reject(error);
      }
    }
    isTryingLocked = false;
  }

  async function runAll(): Promise<void> {
    isWorking = true;
    // Items that arrive in the same tick as the first belong to its group.
    await Promise.resolve();
    while (waiting.length > 0) {
      const group = waiting.slice(0, most);
      waiting = waiting.slice(most);
      const splits = Math.ceil(Math.log(group.length) / Math.log(partCount));
      await run(group, groupLockMs, { inARow: 0, most: splits + 3 });
    }
    isWorking = false;
  }

  function take(items: Each[]): void {
    waiting.push(...items);
    if (!isWorking) void runAll();
  }

  return (item) =>
    new Promise((resolve, reject) => {
      take([{ item, arrivedAt: performance.now(), resolve, reject }]);
    });
}

/** The same for work that only reads. A time-out fails the whole group at once, because it is no item's fault. */
export function readInGroups<Item, Result>(
  read: (items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  return inGroups(read, { isRead: true });
}
