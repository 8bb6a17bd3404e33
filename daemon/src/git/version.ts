// Which git this host has. The program is asked once, and again only when another is in its place.
import { findProgram } from "../find-program.ts";

export interface GitVersion {
  text: string;
  /** Below, at or above a version, as sorting has it. */
  compare: (other: readonly number[]) => number;
}

export function createVersionCache(
  path: string,
  ask: () => Promise<string>,
): () => Promise<GitVersion | undefined> {
  let known: { stamp: string; version: Promise<GitVersion> } | undefined;
  return async () => {
    const stamp = findProgram("git", path)?.stamp;
    if (stamp === undefined) return undefined;
    if (known?.stamp !== stamp) {
      const asked = { stamp, version: ask().then(parseVersion) };
      known = asked;
      // One failure is not remembered.
      asked.version.catch(() => {
        if (known === asked) known = undefined;
      });
    }
    return known.version;
  };
}

function parseVersion(printed: string): GitVersion {
  const text = /\d+(?:\.\d+)+/.exec(printed)?.[0];
  if (text === undefined) throw new Error("Git does not say which version it is.");
  const numbers = text.split(".").map(Number);
  return {
    text,
    compare(other) {
      for (const [index, wanted] of other.entries()) {
        const difference = (numbers[index] ?? 0) - wanted;
        if (difference !== 0) return difference;
      }
      return 0;
    },
  };
}
