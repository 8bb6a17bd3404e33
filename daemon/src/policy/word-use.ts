// What a command can do with the files that its words name. Only programs that are listed here are known;
// any other program may read and change them.
import { heldWords } from "./command-options.ts";
import { unwrap } from "./wrappers.ts";

/**
 * `run`: the program itself. `text`: the program opens no file that the word names. `read`: the program
 * changes no file that the word names. `change`: the program usually changes files. `any`: unknown.
 */
export type WordUse = "run" | "text" | "read" | "change" | "any";

const openingNothing = new Set(
  ": basename dirname echo expr false printf seq sleep tr true".split(" "),
);

const reading = new Set(
  `[ awk cat cksum cmp column cut diff du egrep fgrep file find grep head hexdump jq less ls md5sum nl od
  readlink realpath rg sed sha1sum sha256sum sort stat strings tail test tree wc`.split(/\s+/),
);

/** Subcommands of git that change no file of the working tree. */
const readingInGit = new Set(
  "add blame check-ignore commit diff grep log ls-files rev-parse show status".split(" "),
);

const changing = new Set(
  "chgrp chmod chown cp dd install ln mkdir mv rm rmdir rsync tee touch truncate unlink".split(" "),
);

const interpreters = /^((ba|da|k|z)?sh|python[\d.]*|node|perl|ruby|deno|bun)$/;

/** What a command can do with the files that its words name, by position. */
export function usesOfWords(words: readonly (string | null)[]): (at: number) => WordUse {
  const name = words[0]?.replace(/^.*\//s, "") ?? "";
  const use = useOfArguments(name, words);
  // The script of an interpreter is read; what the script does with later words is unknown.
  const first = interpreters.test(name) ? "read" : use;
  return (at) => (at === 0 ? "run" : at === 1 ? first : use);
}

function useOfArguments(name: string, words: readonly (string | null)[]): WordUse {
  if (openingNothing.has(name)) return "text";
  if (changing.has(name)) return "change";
  const mayRead = reading.has(name) || (name === "git" && readingInGit.has(words[1] ?? ""));
  if (!mayRead || heldWords(words).length > 0) return "any";
  const isPlain = name === "[" || name === "test" || unwrap(words).opaque === undefined;
  return isPlain ? "read" : "any";
}
