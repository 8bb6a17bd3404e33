// Finds the imports of a source file by its text. TypeScript 7 offers no parser to scripts, and ours
// need not be one: oxfmt puts every import and export at the start of a line, in double quotes.

export interface Import {
  specifier: string;
  /** The imported names, before any `as`; `*` for a namespace, `default` for the default export. */
  names: string[];
  line: number;
}

// The clause contains only names, braces and commas, so a string with `from "x"` does not match.
const declaration = /^[ \t]*(?:import|export)\s+(?:([\w$*{},\s]+?)\s+from\s+)?"([^"\n]+)"/gm;
const dynamic = /\bimport\(\s*"([^"\n]+)"/g;

/** Static, type-only, re-exporting and dynamic imports, in the order of the text. */
export function importsOf(text: string): Import[] {
  const found: (Import & { index: number })[] = [];
  for (const match of text.matchAll(declaration)) {
    found.push(at(text, match.index, match[2]!, namesOf(match[1] ?? "")));
  }
  for (const match of text.matchAll(dynamic)) {
    // Prose in a line comment.
    const lineStart = text.lastIndexOf("\n", match.index) + 1;
    if (/^\s*(?:\/\/|\*)/.test(text.slice(lineStart, match.index))) continue;
    found.push(at(text, match.index, match[1]!, ["*"]));
  }
  return found
    .sort((a, b) => a.index - b.index)
    .map(({ specifier, names, line }) => ({ specifier, names, line }));
}

function at(text: string, index: number, specifier: string, names: string[]) {
  return { index, specifier, names, line: text.slice(0, index).split("\n").length };
}

function namesOf(clause: string): string[] {
  const braces = /\{([^}]*)\}/.exec(clause);
  const named = (braces?.[1] ?? "")
    .split(",")
    .map(
      (name) =>
        name
          .trim()
          .replace(/^type\s+/, "")
          .split(/\s+as\s+/, 1)[0]!,
    )
    .filter((name) => name !== "");
  const outside = clause.replace(/\{[^}]*\}/, "").replace(/^type\s+/, "");
  if (outside.includes("*")) named.push("*");
  else if (/\w/.test(outside)) named.push("default");
  return named;
}
