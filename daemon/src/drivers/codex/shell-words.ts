// Codex runs and shows a command as `/bin/bash -lc '…'`; people and rules see only the
// script between the quotes.

/** The script that a shell runs; the unchanged command if it does not start a shell. */
export function commandOf(shown: string): string {
  const words = splitWords(shown);
  const [shell, flag, script] = words ?? [];
  if (words?.length !== 3 || !/(^|\/)(ba|z|da|k|)sh$/.test(shell!)) return shown;
  return /^-l?c$/.test(flag!) ? script! : shown;
}

/** A script as codex shows it. */
export const quoteCommand = (script: string): string =>
  `/bin/bash -lc '${script.replaceAll("'", String.raw`'\''`)}'`;

/** The words of a quoted command; undefined if the quotes do not match. */
function splitWords(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === " ") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (character === "'") {
      const end = text.indexOf("'", at + 1);
      if (end === -1) return undefined;
      word = (word ?? "") + text.slice(at + 1, end);
      at = end;
    } else if (character === '"') {
      word ??= "";
      for (at += 1; text[at] !== '"'; at++) {
        if (at >= text.length) return undefined;
        if (text[at] === "\\" && /["\\$`]/.test(text[at + 1] ?? "")) at += 1;
        word += text[at]!;
      }
    } else {
      if (character === "\\") at += 1;
      word = (word ?? "") + (text[at] ?? "");
    }
  }
  return word === undefined ? words : [...words, word];
}
