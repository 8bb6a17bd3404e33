// Reads the text of a shell command: the commands in it with their words, and whether that is all it does.
// A text counts as readable only if each of its parts is on a short list of plain syntax. Everything whose
// effect shows at run time (variables, substitutions, arithmetic, functions, loops, globs) makes it opaque,
// and no rule can allow an opaque text.
import {
  forEachChild,
  parse,
  type CommandArgument,
  type Redirection,
  type SyntaxNode,
  type Word,
} from "unbash";
import { pathsInCode, unquote } from "./named-paths.ts";
import { usesOfWords, type WordUse } from "./word-use.ts";
import { codeIn, unwrap, type Unwrapped } from "./wrappers.ts";

export interface ShellText {
  /** Every command found, also the ones that wrappers such as `env` or `sh -c` run. */
  segments: Segment[];
  /** Why the text does more than its segments show; undefined if they show everything. */
  opaque: string | undefined;
  /** Part of the text is not read, because the text is too long or nested too deeply. */
  isCutOff: boolean;
  /** Every word of the text, also in syntax that makes it opaque. Each word may name a path. */
  names: NamedWord[];
}

/** A word without quotes and escapes, as far as it is known before the text runs. */
export interface NamedWord {
  text: string;
  /** What happens to a file that the word names. `redirect`: the shell writes it. */
  use: WordUse | "redirect";
  /** The command and the position in it; undefined for a word outside of commands. */
  segment?: Segment;
  at?: number;
}

/** One simple command. */
export interface Segment {
  /** Words of the command; null for a word that is known only at run time. */
  words: (string | null)[];
  redirects: { path: string; access: "read" | "write" }[];
}

/** A longer text takes too long to be read. */
const longest = 16_384;
/** How many layers of wrappers, and of words in words such as `${a:-${b}}`, are followed. */
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
  const found: ShellText = { segments: [], opaque: undefined, isCutOff: false, names: [] };
  const markOpaque = (reason: string) => {
    found.opaque ??= reason;
  };
  let isAllNamed = false;
  const nameAll = () => {
    if (isAllNamed) return;
    isAllNamed = true;
    found.names.push(...pathsInCode(text).map((path) => ({ text: path, use: "any" as const })));
  };
  const cutOff = (reason: string) => {
    found.isCutOff = true;
    markOpaque(reason);
    nameAll();
  };
  const tooDeep = "it is nested too deeply to be read";
  if (text.length > longest || depth > deepest) {
    cutOff(depth > deepest ? tooDeep : "it is too long to be read");
    return found;
  }
  // eslint-disable-next-line no-control-regex -- Control characters are what is looked for.
  if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/.test(text))
    markOpaque("it has control characters");

  /** Words of commands and redirections, which are recorded with their use. */
  const recorded = new Set<SyntaxNode>();

  const visit = (node: SyntaxNode, layers: number): void => {
    if (layers > deepest) return cutOff(tooDeep);
    if (!plainNodes.has(node.type)) markOpaque(reasonFor(node.type));
    if (node.type === "Script" && node.errors?.length) {
      markOpaque("it cannot be parsed");
      nameAll();
    }
    if (node.type === "HereDocBody" && node.parts?.some((part) => part.type !== "Literal"))
      markOpaque("its here-document is expanded");
    if (node.type === "Command") readCommand(node.name, node.args, node.redirects);
    if (node.type === "Redirect" && node.target) {
      recorded.add(node.target);
      const use = node.operator === "<" ? "read" : "redirect";
      const target = unquote(node.target.text);
      if (!isDescriptor(node.operator, target)) found.names.push({ text: target, use });
    }
    if (node.type === "Word" && !recorded.has(node)) {
      const word = unquote(node.text);
      // A variable's value or an input may be run as code.
      const texts = [word, ...pathsInCode(word)];
      found.names.push(...texts.map((each) => ({ text: each, use: "any" as const })));
    }
    const inside = node.type === "Word" ? layers + 1 : layers;
    forEachChild(node, (child) => visit(child, inside));
  };

  function readCommand(
    name: Word | undefined,
    args: readonly CommandArgument[],
    redirects: readonly Redirection[],
  ): void {
    const nodes = [...(name ? [name] : []), ...args];
    for (const node of nodes) recorded.add(node);
    const words = nodes.map((word) => staticText(word.text));
    if (words.includes(null)) markOpaque("a word of it is known only at run time");
    const segment: Segment = { words, redirects: [] };
    for (const redirect of redirects) {
      if (redirect.type !== "Redirect") continue;
      const target = staticText(redirect.target?.text ?? "");
      if (!target) markOpaque("a redirection of it leads to an unknown file");
      else if (!isDescriptor(redirect.operator, target)) {
        const access = redirect.operator === "<" ? "read" : "write";
        segment.redirects.push({ path: target, access });
      }
    }
    readWords(
      segment,
      nodes.map((word) => unquote(word.text)),
    );
  }

  /** Records a command, and what it runs if it is a wrapper. `texts` are its words without quotes. */
  function readWords(segment: Segment, texts: readonly string[], layer = 0): void {
    const { words } = segment;
    found.segments.push(segment);
    const inner = unwrap(words);
    nameWords(segment, texts, inner);
    if (inner.opaque !== undefined) markOpaque(inner.opaque);
    if (inner.words && layer > deepest) {
      cutOff(tooDeep);
    } else if (inner.words) {
      const rest = texts.slice(texts.length - inner.words.length);
      readWords({ words: inner.words, redirects: [] }, rest, layer + 1);
    }
    if (inner.script !== undefined) append(readShellText(inner.script, depth + 1));
  }

  function nameWords(segment: Segment, texts: readonly string[], inner: Unwrapped): void {
    const { words } = segment;
    // The words of the command that a wrapper runs are recorded as that command's words.
    const own = texts.slice(0, texts.length - (inner.words?.length ?? 0));
    // A program such as `~/bin/x` or `\x` makes the text opaque, and is known all the same.
    const isKnown = words[0] === null && plainProgram.test(texts[0]!);
    const known = isKnown ? [texts[0]!, ...words.slice(1)] : words;
    const runsMore = isKnown && Object.keys(unwrap(known)).length > 0;
    const code = runsMore ? "anywhere" : codeIn(known, inner);
    if (code === "anywhere") nameAll();
    const useAt = usesOfWords(known);
    own.forEach((text, at) => {
      // One word before the shell expands its braces, but a whole command after that.
      const isProgram = at === 0 && !text.includes(",");
      const use = at === 0 && !isProgram ? "any" : useAt(at);
      found.names.push({ text, use, segment, at });
      const paths = code === undefined ? [] : pathsInCode(text);
      found.names.push(...paths.map((path) => ({ text: path, use: "any" as const, segment, at })));
    });
  }

  function append({ segments, opaque, isCutOff, names }: ShellText): void {
    found.isCutOff ||= isCutOff;
    found.segments.push(...segments);
    found.names.push(...names);
    if (opaque !== undefined) markOpaque(opaque);
  }

  try {
    visit(parse(text), 0);
  } catch {
    markOpaque("it cannot be parsed");
    nameAll();
  }
  if (found.segments.length === 0) markOpaque("it has no command");
  return found;
}

const plainProgram = /^(?:~|\$HOME|\$\{HOME\})?[\w./+-]+$/;

/** Whether a redirection duplicates or closes a descriptor, so it opens no file. */
const isDescriptor = (operator: string, target: string): boolean =>
  /^[<>]&$/.test(operator) && /^\d+-?$|^-$/.test(target);

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
  // The shell expands `~` at the beginning of a word, and after `=` and `:`.
  const plain = /^(?:[\p{L}\p{N}_./:=,@%+^-]|(?<=[\p{L}\p{N}_.@^-])~|'[^']*'|"[^"$`\\!]*")+$/u;
  if (!plain.test(text)) return null;
  const word = text.replace(
    /'([^']*)'|"([^"]*)"/g,
    (_, single?: string, double?: string) => single ?? double ?? "",
  );
  return word.normalize("NFC") === word ? word : null;
}
