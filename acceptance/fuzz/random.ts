// Chance that can be repeated: the same seed gives the same numbers, on every machine.

export interface Random {
  /** A whole number from 0 up to, and not including, `end`. */
  below(end: number): number;
  /** True once in `times`. */
  oneIn(times: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** A generator of its own for each text of a seed, so that one case can be made without the others. */
export function randomFrom(seed: string): Random {
  let state = hash(seed);
  // Mulberry32: small, fast, and far better than a fuzzer needs.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(next() * end);
  return {
    below,
    oneIn: (times) => below(times) === 0,
    pick: <T>(from: readonly T[]) => from[below(from.length)]!,
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  }
  return value;
}
