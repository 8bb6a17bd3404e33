// What an agent asks, drawn so that nothing in it can hide: control characters, marks that turn the direction of
// writing, spaces without width and letters that look like others are shown as what they are.

export interface TextPart {
  text: string;
  /** Stands for a character that a person would not see, or would take for another. */
  isStrange: boolean;
}

/** Changes the direction of writing: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069. */
const directions = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069";
/** Drawn as nothing. */
const withoutWidth =
  "\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200d\\u2060-\\u2065\\u206a-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb";
/** Drawn as a space without being one. */
const spaces = "\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u2800\\u3000";
/** Every control character but the line feed and the tab. */
const controls = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f";

const hidden = new RegExp(
  `[${controls}${directions}${withoutWidth}${spaces}\\u{e0000}-\\u{e0fff}]`,
  "u",
);
/** Letters that look like Latin ones, and the forms of full width. A command has them by mistake or to deceive. */
const lookAlike =
  /[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\uff01-\uff5e\u2010-\u2015\u2212\u2215\u2044\u29f8\u{1d400}-\u{1d7ff}]/u;
const latin = /[A-Za-z]/;
/** Cyrillic and Greek letters that are drawn as Latin ones. */
const twins = /^[асеорхуіјѕһԁԛԝАВЕКМНОРСТХЅІЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαν]+$/u;

/**
 * The parts of a text. A word of another script is left as it is, unless it could be read as a word of Latin letters.
 */
export function visibleParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  const add = (piece: string, isStrange: boolean) => {
    const last = parts.at(-1);
    if (last && !isStrange && !last.isStrange) last.text += piece;
    else parts.push({ text: piece, isStrange });
  };
  for (const word of text.split(/(?<=[\s])|(?=[\s])/u)) {
    const isMixed = latin.test(word) || twins.test(word.replaceAll(/[^\p{L}]/gu, ""));
    for (const character of word) {
      const isStrange = hidden.test(character) || (isMixed && lookAlike.test(character));
      if (!isStrange) add(character, false);
      else if (hidden.test(character)) add(nameOf(character), true);
      else add(`${character} ${nameOf(character)}`, true);
    }
  }
  return parts;
}

const nameOf = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
