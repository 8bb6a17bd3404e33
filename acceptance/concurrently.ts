// Runs many short requests with a limit on how many run at once, so that a test with thousands of them is
// fast and does not overload one node.

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
