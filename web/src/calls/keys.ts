// The keys of the query cache: the action, then its input with sorted names. One entity is not kept twice: lists have
// entries, get_… has the whole.
import type { ActionName, Input } from "./call.ts";

export type ReadKey<Name extends ActionName = ActionName> = readonly [Name, Input<Name>];

export function keyOf<Name extends ActionName>(action: Name, input: Input<Name>): ReadKey<Name> {
  const sorted = Object.entries(input)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return [action, Object.fromEntries(sorted)];
}
