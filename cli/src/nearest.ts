// Finds the name that a mistyped one was meant to be.

/** The nearest of the names; undefined if none is similar. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  // listInstances and list-instances are spellings of list_instances.
  const wanted = typed
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
  const [best] = names
    .map((name) => ({ name, distance: distance(wanted, name) }))
    .sort((a, b) => a.distance - b.distance);
  return best && best.distance <= Math.max(2, wanted.length / 3) ? best.name : undefined;
}

/** How many characters must be added, removed or replaced. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next[j] = Math.min(replaced, row[j]! + 1, next[j - 1]! + 1);
    }
    row = next;
  }
  return row[to.length]!;
}
