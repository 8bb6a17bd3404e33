// Control of a process that the bench started: it accepts one order at a time over IPC, answers each, and
// ends with its parent.

type Orders<Map> = { [Name in keyof Map]: (order: Map[Name]) => Promise<unknown> };

export function takeOrders<Map extends object>(orders: Orders<Map>): void {
  process.on("message", ({ name, order }: { name: keyof Map; order: never }) => {
    orders[name](order).then(
      (result) => process.send!({ result }),
      (error: unknown) => process.send!({ error: String((error as Error).stack) }),
    );
  });
  process.on("disconnect", () => process.exit());
}

/** Runs something that many times in sequence, and returns the median time in milliseconds. */
export async function medianOf(times: number, work: () => unknown): Promise<number> {
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const startedAt = performance.now();
    await work();
    took.push(performance.now() - startedAt);
  }
  return took.sort((a, b) => a - b)[times >> 1] ?? 0;
}
