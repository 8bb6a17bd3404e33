// Where a comment stands after its file has changed. It is looked for by the lines it was written about, and never
// stands at other code.
import type { Side } from "./patch.ts";

export interface Anchor {
  path: string;
  side: Side;
  first: number;
  last: number;
  /** The lines as they were when they were picked. */
  lines: string[];
  /** The lines above and below them; undefined at an end of what the patch shows. They tell equal lines apart. */
  around: [above: string | undefined, below: string | undefined];
}

/** How far lines may have moved. */
export const reach = 50;

/** Captures the lines of a range. Lines that the patch does not show are left out. */
export function anchorAt(
  lines: ReadonlyMap<number, string>,
  { path, side, first, last }: Pick<Anchor, "path" | "side" | "first" | "last">,
): Anchor {
  const captured: string[] = [];
  for (let at = first; at <= last; at++) {
    const text = lines.get(at);
    if (text !== undefined) captured.push(text);
  }
  const around: Anchor["around"] = [lines.get(first - 1), lines.get(last + 1)];
  return { path, side, first, last, lines: captured, around };
}

/**
 * The number of the first line now; undefined if the lines have changed. Of several places with the same lines it is
 * the nearest with the same neighbours: a closing bracket elsewhere is other code.
 */
export function findAnchor(lines: ReadonlyMap<number, string>, anchor: Anchor): number | undefined {
  const places: { at: number; alike: number; distance: number }[] = [];
  for (let distance = 0; distance <= reach; distance++) {
    for (const at of distance === 0
      ? [anchor.first]
      : [anchor.first - distance, anchor.first + distance]) {
      if (isAt(lines, anchor.lines, at)) {
        places.push({ at, alike: alikeAround(lines, anchor, at), distance });
      }
    }
  }
  if (places.length <= 1) return places[0]?.at;
  const [best] = places.sort((a, b) => b.alike - a.alike || a.distance - b.distance);
  return best!.alike > 0 ? best!.at : undefined;
}

const isAt = (lines: ReadonlyMap<number, string>, wanted: readonly string[], first: number) =>
  wanted.every((text, offset) => lines.get(first + offset) === text);

function alikeAround(
  lines: ReadonlyMap<number, string>,
  { lines: { length }, around: [above, below] }: Anchor,
  first: number,
): number {
  const isAlike = (text: string | undefined, at: number) =>
    text !== undefined && lines.get(at) === text;
  return Number(isAlike(above, first - 1)) + Number(isAlike(below, first + length));
}
