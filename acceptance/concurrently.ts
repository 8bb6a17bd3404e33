// Many small waits at once, but not all of them: a test with thousands of requests stays fast and
// does not queue them all on one node.

/** Runs `work` on every item, `width` at a time; the results keep the items' order. */
export async function concurrently<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  width = 16,
): Promise<Result[]> {
  const results: Result[] = Array.from({ length: items.length });
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
