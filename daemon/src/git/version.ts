// The version of this host's git. The program is run once, and again only if it was replaced.
import { findProgram } from "../find-program.ts";

export interface GitVersion {
  text: string;
  /** Less than, equal to or greater than 0, as for sorting. */
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
      // A failure is not cached.
      asked.version.catch(() => {
        if (known === asked) known = undefined;
      });
    }
    return known.version;
  };
}

function parseVersion(printed: string): GitVersion {
  const text = /\d+(?:\.\d+)+/.exec(printed)?.[0];
  if (text === undefined) throw new Error("Git did not print its version.");
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
