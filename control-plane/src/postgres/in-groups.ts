// Combines many small writes into few large ones. Items that arrive while a group is being written form
// the next group. There is no timer, so a single item is as fast as without this.
import { DatabaseUnavailable } from "./database.ts";

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Larger groups are hardly cheaper per item, and make the next items wait longer. */
const most = 500;

/**
 * `work` processes a whole group and returns a result for each item, in their order. If it fails, the
 * group is halved until the unfit item stands alone; all items fail only if the database is
 * unreachable.
 */
export function inGroups<Item, Result>(
  work: (items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let isWorking = false;

  async function run(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await work(group.map(({ item }) => item));
      group.forEach(({ resolve }, index) => resolve(results[index]!));
    } catch (error) {
      if (group.length === 1 || error instanceof DatabaseUnavailable) {
        for (const { reject } of group) reject(error);
        return;
      }
      const half = group.length >> 1;
      await run(group.slice(0, half));
      await run(group.slice(half));
    }
  }

  async function runAll(): Promise<void> {
    isWorking = true;
    // Items that arrive in the same tick as the first belong to its group.
    await Promise.resolve();
    while (waiting.length > 0) {
      const group = waiting.slice(0, most);
      waiting = waiting.slice(most);
      await run(group);
    }
    isWorking = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!isWorking) void runAll();
    });
}
