// Many small writes made few large ones. What comes while a group is being written is the next group;
// nothing waits for a timer, so a single item is as quick as it would be without this.
import { DatabaseUnavailable } from "./database.ts";

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** More at once is hardly cheaper per item, and what waits behind waits longer. */
const most = 500;

/**
 * `work` does a whole group and gives a result for each of its items, in their order. When it fails,
 * the group is halved until the unfit stands alone; all fail only when the database is away.
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
    // What arrived in one piece with the first goes with it.
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
