// Results that fit into a model's context. A result above the limit is cut: first its lists, then its longest
// texts. The field `cut` says what is missing and where the rest is.

/** The largest result of a tool, in bytes of JSON. */
export const largestResult = 20_000;
/** Room for the field `cut`. */
const reserved = 1_000;
/** Texts shorter than this are not cut. */
const shortText = 400;

export interface Cut {
  value: object;
  /** How many entries of the result's list are left; undefined if the list is whole, or if there is none. */
  entries?: number | undefined;
}

/** The value itself if it fits; else a copy that does. `rest` says where the whole result is. */
export function cutToFit(value: object, rest: string): Cut {
  if (sizeOf(value) <= largestResult) return { value };
  const copy = structuredClone(value) as Record<string, unknown>;
  const parts: string[] = [];
  const entries = cutList(copy, parts);
  while (sizeOf(copy) > largestResult - reserved && cutLargestPart(copy, parts));
  const shown = parts.slice(0, 5);
  if (parts.length > shown.length) shown.push(`and ${parts.length - shown.length} more`);
  return { value: { ...copy, cut: { parts: shown, rest } }, entries };
}

const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value) ?? "");

/** Keeps as many entries of the result's only list as fit, and at least one. */
function cutList(result: Record<string, unknown>, parts: string[]): number | undefined {
  const lists = Object.entries(result).filter((field) => Array.isArray(field[1]));
  const [[field, list] = []] = lists as [string, unknown[]][];
  if (lists.length !== 1 || field === undefined || !list) return undefined;
  let size = sizeOf({ ...result, [field]: [] });
  let count = 0;
  for (const entry of list) {
    size += sizeOf(entry) + 1;
    if (count > 0 && size > largestResult - reserved) break;
    count += 1;
  }
  if (count === list.length) return undefined;
  result[field] = list.slice(0, count);
  parts.push(`${field}: ${count} of ${list.length} entries`);
  return count;
}

type Part = { owner: Record<string, unknown>; key: string; path: string; size: number };

/** Halves the largest list or text inside the value; false if nothing is left to cut. */
function cutLargestPart(value: object, parts: string[]): boolean {
  let largest: Part | undefined;
  const visit = (owner: Record<string, unknown>, path: string) => {
    for (const [key, part] of Object.entries(owner)) {
      const here = path === "" ? key : `${path}.${key}`;
      const canBeCut = Array.isArray(part)
        ? part.length > 1
        : typeof part === "string" && part.length > shortText;
      if (canBeCut) {
        const size = sizeOf(part);
        if (!largest || size > largest.size) largest = { owner, key, path: here, size };
      }
      if (typeof part === "object" && part !== null) {
        visit(part as Record<string, unknown>, here);
      }
    }
  };
  visit(value as Record<string, unknown>, "");
  if (!largest) return false;
  const { owner, key, path } = largest;
  const part = owner[key] as string | unknown[];
  const length = Math.ceil(part.length / 2);
  const unit = typeof part === "string" ? "characters" : "entries";
  owner[key] = typeof part === "string" ? `${firstOf(part, length)}…` : part.slice(0, length);
  // A part that was halved before keeps its line, with the length that it had at first.
  const known = parts.findIndex((line) => line.startsWith(`${path}: `));
  const whole = known >= 0 ? /of (\d+)/.exec(parts[known]!)![1] : String(part.length);
  const line = `${path}: ${length} of ${whole} ${unit}`;
  if (known >= 0) parts[known] = line;
  else parts.push(line);
  return true;
}

/** The beginning of a text, never half of a surrogate pair. */
const firstOf = (text: string, length: number) =>
  text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
