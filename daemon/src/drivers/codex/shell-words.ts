// Codex runs a command as `/bin/bash -lc '…'` and shows it that way, quoted. People and rules are given
// what stands between the quotes.

/** The script that a shell is given; the command as it is when it is something else. */
export function commandOf(shown: string): string {
  const words = splitWords(shown);
  const [shell, flag, script] = words ?? [];
  if (words?.length !== 3 || !/(^|\/)(ba|z|da|k|)sh$/.test(shell!)) return shown;
  return /^-l?c$/.test(flag!) ? script! : shown;
}

/** The words of a quoted command; nothing when the quotes do not match. */
function splitWords(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    if (sign === " ") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (sign === "'") {
      const end = text.indexOf("'", at + 1);
      if (end === -1) return undefined;
      word = (word ?? "") + text.slice(at + 1, end);
      at = end;
    } else if (sign === '"') {
      word ??= "";
      for (at += 1; text[at] !== '"'; at++) {
        if (at >= text.length) return undefined;
        if (text[at] === "\\" && /["\\$`]/.test(text[at + 1] ?? "")) at += 1;
        word += text[at]!;
      }
    } else {
      if (sign === "\\") at += 1;
      word = (word ?? "") + (text[at] ?? "");
    }
  }
  return word === undefined ? words : [...words, word];
}

/**
 * The single commands of a chain. Nothing when it holds what only a shell could tell: a variable, another
 * command within, a file that is read or written, or something that goes on behind it.
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
