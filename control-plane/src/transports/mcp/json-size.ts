// Sizes of values as JSON. No function here reads much more of a value than the size that it is asked about, so
// that a large value costs no more than a small one.

/** Deeper values count as too large. Nothing that the product itself writes is nested half as deep. */
export const deepest = 64;

export const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/** The size of a value as JSON if it is at most `most` bytes; otherwise any larger number. */
export function sizeUpTo(value: unknown, most: number, depth = 0): number {
  if (typeof value === "string") return value.length > most ? most + 1 : sizeOf(value);
  if (typeof value !== "object" || value === null) return sizeOf(value);
  if (depth >= deepest) return most + 1;
  let size = 2;
  let count = 0;
  const add = (bytes: number) => {
    size += bytes + (count > 0 ? 1 : 0);
    count += 1;
    return size <= most;
  };
  if (Array.isArray(value)) {
    for (const entry of value) if (!add(sizeUpTo(entry, most - size, depth + 1))) break;
    return size;
  }
  for (const key of keysOf(value)) {
    const part = (value as Record<string, unknown>)[key];
    if (part === undefined) continue;
    const name = sizeUpTo(key, most - size) + 1;
    if (!add(name + sizeUpTo(part, most - size - name, depth + 1))) break;
  }
  return size;
}

const knownKeys = new WeakMap<object, string[]>();

/** The names of an object's fields. Those of a large object are collected once: that takes long. */
export function keysOf(value: object): string[] {
  const known = knownKeys.get(value);
  if (known) return known;
  const keys = Object.keys(value);
  if (keys.length > 100) knownKeys.set(value, keys);
  return keys;
}

/** The longest beginning of a text that has at most so many bytes as JSON, with its quotes and a "…". */
export function beginningOf(text: string, bytes: number): string {
  let left = bytes - sizeOf("…");
  let end = 0;
  while (end < text.length) {
    const code = text.codePointAt(end)!;
    left -= sizeOfCharacter(code);
    if (left < 0) break;
    end += code > 0xffff ? 2 : 1;
  }
  return `${text.slice(0, end)}…`;
}

function sizeOfCharacter(code: number): number {
  if (code === 0x22 || code === 0x5c) return 2;
  // Some control characters have a short form. Half of a surrogate pair has the long form.
  if (code < 0x20 || (code >= 0xd800 && code <= 0xdfff)) return 6;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
