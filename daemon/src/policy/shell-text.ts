// Reads the text of a shell command: the commands in it with their words, and whether that is all it does.
// A text counts as readable only if each of its parts is on a short list of plain syntax. Everything whose
// effect shows at run time (variables, substitutions, arithmetic, functions, loops, globs) makes it opaque,
// and no rule can allow an opaque text.
import { forEachChild, parse, type Redirection, type SyntaxNode, type Word } from "unbash";
import { unwrap } from "./wrappers.ts";

export interface ShellText {
  /** Every command found, also the ones that wrappers such as `env` or `sh -c` run. */
  segments: Segment[];
  /** Why the text does more than its segments show; undefined if they show everything. */
  opaque: string | undefined;
}

/** One simple command. */
export interface Segment {
  /** Words of the command; null for a word that is known only at run time. */
  words: (string | null)[];
  redirects: { path: string; access: "read" | "write" }[];
}

const longest = 65_536;
/** How many layers of wrappers are followed. */
const deepest = 8;

/** Syntax that is read completely. Any other node of the syntax tree makes the text opaque. */
const plainNodes = new Set<SyntaxNode["type"]>([
  "Script",
  "Statement",
  "AndOr",
  "Pipeline",
  "Negation",
  "Command",
  "Subshell",
  "BraceGroup",
  "CompoundList",
  "Word",
  "Literal",
  "SingleQuoted",
  "DoubleQuoted",
  "Redirect",
  "FileDescriptor",
  "HereDoc",
  "HereDocDelimiter",
  "HereDocBody",
  "HereString",
]);

export function readShellText(text: string, depth = 0): ShellText {
  const found: ShellText = { segments: [], opaque: undefined };
  const markOpaque = (reason: string) => {
    found.opaque ??= reason;
  };
  if (text.length > longest) return { segments: [], opaque: "it is too long to be read" };
  if (depth > deepest) return { segments: [], opaque: "it is nested too deeply to be read" };
  // eslint-disable-next-line no-control-regex -- Control characters are what is looked for.
  if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/.test(text))
    markOpaque("it has control characters");

  const visit = (node: SyntaxNode): void => {
    if (!plainNodes.has(node.type)) markOpaque(reasonFor(node.type));
    if (node.type === "Script" && node.errors?.length) markOpaque("it cannot be parsed");
    if (node.type === "HereDocBody" && node.parts?.some((part) => part.type !== "Literal"))
      markOpaque("its here-document is expanded");
    if (node.type === "Command") readCommand(node.name, node.args, node.redirects);
    forEachChild(node, visit);
  };

  function readCommand(
    name: Word | undefined,
    args: readonly { type: string; text: string }[],
    redirects: readonly Redirection[],
  ): void {
    const words = [...(name ? [name] : []), ...args].map((word) => staticText(word.text));
    if (words.includes(null)) markOpaque("a word of it is known only at run time");
    const segment: Segment = { words, redirects: [] };
    for (const redirect of redirects) {
      if (redirect.type !== "Redirect") continue;
      const target = staticText(redirect.target?.text ?? "");
      if (!target) markOpaque("a redirection of it leads to an unknown file");
      else if (!/^[<>]&$/.test(redirect.operator) || !/^\d+-?$|^-$/.test(target)) {
        const access = redirect.operator === "<" ? "read" : "write";
        segment.redirects.push({ path: target, access });
      }
    }
    found.segments.push(segment);
    const inner = unwrap(words);
    if (inner.opaque !== undefined) markOpaque(inner.opaque);
    if (inner.words) readCommandWords(inner.words);
    if (inner.script !== undefined) append(readShellText(inner.script, depth + 1));
  }

  function readCommandWords(words: (string | null)[], layer = 0): void {
    found.segments.push({ words, redirects: [] });
    const inner = unwrap(words);
    if (layer > deepest) markOpaque("it is nested too deeply to be read");
    else if (inner.words) readCommandWords(inner.words, layer + 1);
    if (inner.opaque !== undefined) markOpaque(inner.opaque);
    if (inner.script !== undefined) append(readShellText(inner.script, depth + 1));
  }

  function append({ segments, opaque }: ShellText): void {
    found.segments.push(...segments);
    if (opaque !== undefined) markOpaque(opaque);
  }

  try {
    visit(parse(text));
  } catch {
    markOpaque("it cannot be parsed");
  }
  if (found.segments.length === 0) markOpaque("it has no command");
  return found;
}

function reasonFor(type: SyntaxNode["type"]): string {
  if (type.startsWith("Assignment")) return "it sets a variable";
  if (type.startsWith("Arithmetic") || type.startsWith("Test")) return "it evaluates an expression";
  return `its effect shows only at run time (${type})`;
}

/**
 * The word that the shell makes of a piece of its text; null unless it is plain or in quotes without
 * anything to expand. Does not rely on the parser's own reading of the word.
 */
function staticText(text: string): string | null {
  if (!/^(?:[\p{L}\p{N}_./:=,@%+^-]|'[^']*'|"[^"$`\\!]*")+$/u.test(text)) return null;
  const word = text.replace(
    /'([^']*)'|"([^"]*)"/g,
    (_, single?: string, double?: string) => single ?? double ?? "",
  );
  return word.normalize("NFC") === word ? word : null;
}
