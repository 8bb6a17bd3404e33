// The rules of an organization that cover commands.
import { heldWords } from "./command-options.ts";
import { readShellText, type Segment } from "./shell-text.ts";

/** A rule that covers one command with these words, or with these and any others. */
interface ReadRule {
  rule: string;
  wanted: Segment["words"];
  isOpen: boolean;
}

/** Empty for a rule that covers only the same text, or another program. */
export function readRule(
  rule: string,
  programs: ReadonlySet<string | null | undefined>,
): ReadRule[] {
  const [, program] = /^([\w./-]+)(?: |$)/.exec(rule) ?? [];
  if (program !== undefined && !programs.has(program)) return [];
  // A rule with a variable or with several commands covers only the same text.
  if (/^\s*\w+\+?=/.test(rule)) return [];
  const { segments, opaque } = readShellText(rule.replace(/ \*$/, ""));
  const wanted = segments[0]?.words;
  if (!wanted || segments.length > 1 || segments[0]!.redirects.length > 0) return [];
  // A rule such as `sh *` cannot be read completely, and covers what it names all the same.
  if (opaque !== undefined && wanted.includes(null)) return [];
  return [{ rule, wanted, isOpen: rule.endsWith(" *") }];
}

/**
 * The rule that covers a command and names most of its words. A rule that ends with ` *` covers any arguments
 * that are not held.
 */
export function longestCovering(
  known: readonly ReadRule[],
  words: Segment["words"],
): { rule: string; length: number } | undefined {
  const named = known
    .filter(
      ({ wanted, isOpen }) =>
        (isOpen ? words.length >= wanted.length : words.length === wanted.length) &&
        wanted.every((word, at) => word === words[at]),
    )
    .map(({ rule, wanted }) => ({ rule, length: wanted.length }))
    .toSorted((one, other) => other.length - one.length)[0];
  const isCovered = named && heldWords(words).every((at) => at < named.length);
  return isCovered ? named : undefined;
}

/** Why no rule with ` *` covers a command; undefined if its arguments are not the reason. */
export function whyHeld(words: Segment["words"]): string | undefined {
  const [at] = heldWords(words);
  return at === undefined
    ? undefined
    : `${words[0]} can run a program, write a file or follow links out of the directory with ${words[at]?.slice(0, 80)}`;
}
