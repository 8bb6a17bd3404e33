// Results that fit into a model's context. A result above the limit is cut: its large parts are shortened until
// each has its share of the room, and small parts stay whole. The field `cut` says what is missing and where the
// rest is. The work depends on the limit and not on the size of the result.
import { beginningOf, deepest, keysOf, sizeOf, sizeUpTo } from "./json-size.ts";

/** The largest answer of a tool, in bytes of JSON, with everything that is sent around the result. */
const largestAnswer = 20_000;
/** The largest result, in bytes as they are sent. */
export const largestResult = largestAnswer - 500;
/** Room for the names of cut parts in the field `cut`. */
const reserved = 800;
/** An entry of a list has at least this room; otherwise the list gets shorter. */
const leastEntry = 400;
/** A field of an object has at least this room; otherwise the object loses fields. */
const leastField = 60;
/** How many cut parts are named, and how much of a name is shown. */
const mostParts = 5;
const longestPath = 60;

/** How many bytes of an answer a value takes. */
export type Weigh = (value: unknown) => number;
export const sentOnce: Weigh = sizeOf;
/** The value itself, and its JSON as a text. */
export const sentTwice: Weigh = (value) => {
  const json = JSON.stringify(value) ?? "";
  return Buffer.byteLength(json) + sizeOf(json);
};

interface CutOptions {
  weigh?: Weigh;
  /** Parts that are missing already. */
  missing?: readonly string[];
  /** Shortens the entries of the result's list rather than the list, because the next page begins behind them. */
  keepsEntries?: boolean;
}

export interface Cut {
  value: object;
  /** How many entries of the result's list are left; undefined if the list is whole, or if there is none. */
  entries?: number | undefined;
}

export function fits(value: unknown, weigh: Weigh = sentOnce): boolean {
  // Weigh only what is small: weighing reads the whole value.
  return sizeUpTo(value, largestResult) <= largestResult && weigh(value) <= largestResult;
}

/** The value itself if it fits and nothing is missing; else a copy that fits. `rest` says where the rest is. */
export function cutToFit(value: object, rest: string, options: CutOptions = {}): Cut {
  const { weigh = sentOnce, missing = [], keepsEntries = false } = options;
  if (missing.length === 0 && fits(value, weigh)) return { value };
  const list = onlyList(value);
  let largest = largestResult;
  for (;;) {
    const parts = [...missing];
    const room = largest - sizeOf(rest) - reserved;
    const whole = keepsEntries ? list?.entries : undefined;
    const copy = shareOut({ value, room, path: "", depth: 0 }, { parts, whole }) as object;
    const shown = parts.slice(0, mostParts);
    if (parts.length > shown.length) shown.push(`and ${parts.length - shown.length} more`);
    const result = { ...copy, cut: { parts: shown, rest } };
    const weight = weigh(result);
    if (weight <= largestResult || largest < 2 * reserved) {
      const left = list && (copy as Record<string, unknown[]>)[list.field]?.length;
      return { value: result, entries: left === list?.entries.length ? undefined : left };
    }
    largest = Math.floor((largest * largestResult * 0.97) / weight);
  }
}

/** The only list among the fields of a result; undefined if there are none or several. */
export function onlyList(value: object): { field: string; entries: unknown[] } | undefined {
  const lists = Object.entries(value).filter((field) => Array.isArray(field[1]));
  const [[field, entries] = []] = lists as [string, unknown[]][];
  if (lists.length !== 1 || field === undefined || !entries) return undefined;
  return { field, entries };
}

/**
 * How many entries of the result's list fit whole, from its first or its last one; at least one. One that fits
 * into no result is counted if there is room for much of it.
 */
export function countFitting(value: object, end: "first" | "last", weigh: Weigh): number {
  const { field, entries } = onlyList(value)!;
  const room = largestResult - 2 * reserved;
  let left = room - weigh({ ...value, [field]: [] });
  let count = 0;
  for (; count < entries.length; count += 1) {
    const entry = entries.at(end === "first" ? count : -1 - count);
    const isTooLarge = sizeUpTo(entry, room) > room || weigh(entry) > room;
    if (isTooLarge) return count === 0 || left > room / 2 ? count + 1 : count;
    left -= weigh(entry) + 2;
    if (left < 0) break;
  }
  return Math.max(count, 1);
}

interface Part {
  value: unknown;
  /** The largest size of the copy. */
  room: number;
  path: string;
  depth: number;
}

interface Course {
  /** What was cut, for the caller. */
  parts: string[];
  /** The list that keeps all of its entries. */
  whole?: unknown[] | undefined;
}

function shareOut(part: Part, course: Course): unknown {
  const { value, room, path, depth } = part;
  if (sizeUpTo(value, room, depth) <= room) return value;
  const note = (text: string) => {
    const shown =
      path.length > longestPath ? `${path.slice(0, longestPath).toWellFormed()}…` : path;
    course.parts.push(shown === "" ? text : `${shown}: ${text}`);
  };
  if (typeof value === "string") {
    const beginning = beginningOf(value, room);
    note(`${beginning.length - 1} of ${value.length} characters`);
    return beginning;
  }
  if (typeof value !== "object" || value === null) return "…";
  if (depth >= deepest) {
    note("nested too deep");
    return "…";
  }
  if (Array.isArray(value)) {
    const least = value === course.whole ? 0 : leastEntry;
    const rooms = roomsFor(value.length, (n) => [1, value[n] as unknown], room - 2, depth, least);
    if (rooms.length < value.length) note(`${rooms.length} of ${value.length} entries`);
    return rooms.map((room, n) =>
      shareOut({ value: value[n], room, path: join(path, n), depth: depth + 1 }, course),
    );
  }
  const fields = value as Record<string, unknown>;
  const keys = keysOf(value);
  const named = (n: number) => [sizeUpTo(keys[n], room) + 2, fields[keys[n]!]] as const;
  const rooms = roomsFor(keys.length, named, room - 2, depth, leastField);
  if (rooms.length < keys.length) note(`${rooms.length} of ${keys.length} fields`);
  return Object.fromEntries(
    rooms.map((room, n) => {
      const key = keys[n]!;
      const inner = { value: fields[key], room, path: join(path, key), depth: depth + 1 };
      return [key, shareOut(inner, course)];
    }),
  );
}

const join = (path: string, key: string | number) => (path === "" ? String(key) : `${path}.${key}`);

/**
 * The room of each part: small parts have their size, and large ones have equal shares, which are at least
 * `least`. There are fewer rooms than parts if not all have a place.
 */
function roomsFor(
  count: number,
  part: (n: number) => readonly [around: number, value: unknown],
  room: number,
  depth: number,
  least: number,
): number[] {
  const leastRoom = Math.min(least, Math.max(room - 20, sizeOf("…")));
  const sizes: number[] = [];
  let left = room;
  let used = 0;
  for (let n = 0; n < count; n += 1) {
    const [around, value] = part(n);
    const size = sizeUpTo(value, leastRoom, depth + 1);
    if (used + around + Math.min(size, leastRoom) > room) break;
    used += around + Math.min(size, leastRoom);
    left -= around;
    sizes.push(size);
  }
  if (sizes.length < count) return sizes.map((size) => Math.min(size, leastRoom));
  // Every part has its least room, so only few are larger, and only those are read again.
  const known = sizes.map((size, n) =>
    size <= leastRoom ? size : sizeUpTo(part(n)[1], left, depth + 1),
  );
  const share = equalShare(known, left);
  return known.map((size) => Math.min(size, share));
}

/** The largest share such that all sizes, each cut to the share, fit into the room. */
function equalShare(sizes: readonly number[], room: number): number {
  const ascending = sizes.toSorted((a, b) => a - b);
  let left = room;
  for (const [n, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - n));
    if (size > share) return share;
    left -= size;
  }
  return room;
}
