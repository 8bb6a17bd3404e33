// A journal whose daemon dies at one of its commits, for tests of what the next daemon makes of what it left.
import type { Journal } from "@hawser/daemon/journal/journal.ts";

class Killed extends Error {}

/** Allows a number of commits. The daemon dies at the next one, before or after it is made. */
export function killAt(count: number, isMade: boolean) {
  let commits = 0;
  let depth = 0;
  let isDead = false;
  const died = Promise.withResolvers<void>();
  const die = () => {
    isDead = true;
    died.resolve();
    return new Killed();
  };
  const commit = <Result>(work: () => Result): Result => {
    if (isDead) throw new Killed();
    if (depth > 0) return work();
    if (commits === count && !isMade) throw die();
    depth++;
    try {
      const result = work();
      commits++;
      if (commits === count + 1 && isMade) throw die();
      return result;
    } finally {
      depth--;
    }
  };
  const guard = <Part extends object>(part: Part): Part =>
    Object.fromEntries(
      Object.entries(part).map(([name, value]) => [
        name,
        typeof value === "function" && writes.has(name)
          ? (...given: unknown[]) =>
              commit(() => (value as (...given: unknown[]) => unknown)(...given))
          : value,
      ]),
    ) as Part;
  const wrapJournal = (journal: Journal): Journal => ({
    ...journal,
    atOnce: (work) => commit(() => journal.atOnce(work)),
    commands: guard(journal.commands),
    log: guard(journal.log),
    driven: guard(journal.driven),
    messages: guard(journal.messages),
  });
  return { wrapJournal, died: died.promise, isDead: () => isDead };
}

const writes = new Set(
  `begin finish append introduce add change remove addPrompt changePrompt orderPrompts markSent removePrompt addRequest
   noteGiven removeRequest remember markEnded dropFrom setSnapshot`.split(/\s+/),
);
