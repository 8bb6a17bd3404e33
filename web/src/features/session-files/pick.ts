// Lines that a person picks for a comment: with the pointer over the numbers, or with the keys from a focused line.
import type { Side } from "./patch.ts";
import { sideOfLine, type Layout, type LineRow, type Row } from "./rows.ts";

export interface Pick {
  path: string;
  side: Side;
  /** The line where it began, and the one where it ends now. */
  from: number;
  to: number;
}

export const rangeOf = ({ from, to }: Pick) => ({
  first: Math.min(from, to),
  last: Math.max(from, to),
});

/** The side of a row on which it is picked. */
export function pickedSide(pick: Pick | undefined, row: LineRow): Side | undefined {
  if (pick?.path !== row.path) return undefined;
  const number = row[pick.side]?.[pick.side];
  const { first, last } = rangeOf(pick);
  return number !== undefined && number >= first && number <= last ? pick.side : undefined;
}

/** The row that shows a line; undefined if none does. */
export function rowAt(
  rows: readonly Row[],
  { path, side, line }: { path: string; side: Side; line: number },
): number | undefined {
  const at = rows.findIndex(
    (row) => row.is === "line" && row.path === path && row[side]?.[side] === line,
  );
  return at === -1 ? undefined : at;
}

/** Where an arrow leads from a line. A range stays on its side and in its hunk, because the lines between are not shown. */
export function nextPick(
  rows: readonly Row[],
  pick: Pick,
  step: 1 | -1,
  { layout, isRange }: { layout: Layout; isRange: boolean },
): Pick | undefined {
  const { path, side, to } = pick;
  const start = rowAt(rows, { path, side, line: to });
  if (start === undefined) return undefined;
  const from = rows[start] as LineRow;
  for (let at = start + step; at >= 0 && at < rows.length; at += step) {
    const row = rows[at]!;
    if (isRange && (row.path !== path || row.is === "hunk")) return undefined;
    if (row.is !== "line") continue;
    const on = isRange || layout === "split" ? side : sideOfLine((row.new ?? row.old)!);
    const line = row[on]?.[on];
    if (line === undefined) continue;
    return isRange
      ? row.hunk === from.hunk
        ? { ...pick, to: line }
        : undefined
      : { path: row.path, side: on, from: line, to: line };
  }
  return undefined;
}
