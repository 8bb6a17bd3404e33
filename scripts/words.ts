// Compiles the words of the dashboard, web/src/words/en.po, into TypeScript: messages for draw.ts, and the values that
// each of them needs.
import { compileMessage } from "@lingui/message-utils/compileMessage";

type Compiled = ReturnType<typeof compileMessage>;

const head = `// The words of the dashboard. Compiled from en.po by "npm run generate"; do not edit.
`;

/** The text of web/src/words/en.gen.ts. Throws if an id is there twice, or a message does not compile. */
export function compiledWords(po: string): string {
  const messages = new Map<string, Compiled>();
  for (const { id, text } of readPo(po)) {
    if (messages.has(id)) throw new Error(`en.po has ${id} twice. Remove one.`);
    messages.set(id, compileMessage(text));
  }
  const sorted = [...messages].sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = sorted.map(([id, message]) => `  ${JSON.stringify(id)}: ${asText(message)},\n`);
  const needing = sorted
    .map(([id, message]) => [id, placeholdersOf(message)] as const)
    .filter(([, names]) => names.size > 0)
    .map(([id, names]) => {
      const union = [...names].sort().map((name) => JSON.stringify(name));
      return `  ${JSON.stringify(id)}: ${union.join(" | ")};\n`;
    });
  return [
    head,
    `import type { Message } from "./draw.ts";\n`,
    `export const messages = {\n${lines.join("")}} satisfies Record<string, Message>;\n`,
    `/** The values that a message needs. */\nexport interface Placeholders {\n${needing.join("")}}\n`,
  ].join("\n");
}

/** A message without values is a plain text, which is smaller. */
function asText(message: Compiled): string {
  const isPlain = Array.isArray(message) && message.every((part) => typeof part === "string");
  return JSON.stringify(isPlain ? message.join("") : message);
}

function placeholdersOf(message: Compiled, names = new Set<string>()): Set<string> {
  if (!Array.isArray(message)) return names;
  for (const part of message) {
    if (typeof part === "string") continue;
    const [name, format, forms] = part;
    // web/src/words/draw.ts draws no other.
    if (format !== undefined && format !== "plural") {
      throw new Error(`A message formats ${name} as ${format}. Use a plural, or format the value.`);
    }
    names.add(name);
    if (typeof forms !== "object" || forms === null) continue;
    for (const form of Object.values(forms)) {
      placeholdersOf(typeof form === "number" ? [String(form)] : (form as Compiled), names);
    }
  }
  return names;
}

/** The entries of a .po file: an id and a text each, both possibly on several lines. */
function readPo(po: string): { id: string; text: string }[] {
  return po
    .split(/\n\s*\n/)
    .map((entry) => ({ id: valueOf(entry, "msgid"), text: valueOf(entry, "msgstr") }))
    .filter(({ id }) => id !== "");
}

function valueOf(entry: string, word: "msgid" | "msgstr"): string {
  const found = new RegExp(`^${word} ((?:"(?:[^"\\\\]|\\\\.)*"\\s*)+)`, "m").exec(entry);
  const lines = found?.[1]!.match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  return lines.map((line) => JSON.parse(line) as string).join("");
}
