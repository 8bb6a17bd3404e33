// Reads shell commands. Codex runs and shows a command as `/bin/bash -lc '…'`; people and rules see only
// the script between the quotes.

/** The script that a shell runs; the unchanged command if it does not start a shell. */
export function commandOf(shown: string): string {
  const words = splitWords(shown);
  const [shell, flag, script] = words ?? [];
  if (words?.length !== 3 || !/(^|\/)(ba|z|da|k|)sh$/.test(shell!)) return shown;
  return /^-l?c$/.test(flag!) ? script! : shown;
}

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

/**
 * The single commands of a chain. undefined if the script uses syntax that only a shell can evaluate:
 * variables, substitutions, redirections or background commands.
 */
export function partsOf(script: string): string[] | undefined {
  const plain = String.raw`'[^']*'|"[^"$\x60\\]*"|[^\s'"$\x60\\;&|<>(){}#!]+|[ \t]+`;
  const pieces = script.match(new RegExp(`${plain}|&&|\\|\\||[;|]`, "g")) ?? [];
  if (pieces.join("") !== script) return undefined;
  const parts = [""];
  for (const piece of pieces) {
    if (/^(&&|\|\||;|\|)$/.test(piece)) parts.push("");
    else parts.push(parts.pop() + piece);
  }
  return parts.map((part) => part.trim());
}
