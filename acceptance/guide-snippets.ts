// The snippets of the guides: every ```sh or ```ts block of a document, in order, also those indented below
// the item of a list. A block that no test can run stands under a comment `<!-- not run: reason -->`.

export interface Snippet {
  /** Line of the block's first line of code. */
  line: number;
  text: string;
  /** Why no test runs it; undefined if it is run. */
  notRun: string | undefined;
}

export function snippetsOf(document: string, language: "sh" | "ts" = "sh"): Snippet[] {
  const block = new RegExp(
    `^( *)(?:<!-- not run: (.+) -->\\n\\n\\1)?\`\`\`${language}\\n([\\s\\S]*?)^\\1\`\`\`$`,
    "gm",
  );
  return [...document.matchAll(block)].map((match) => ({
    line: document.slice(0, match.index + match[0].indexOf("```")).split("\n").length + 1,
    text: match[3]!,
    notRun: match[2],
  }));
}

/**
 * A bash script that runs one snippet and fails at its first command that fails. Functions, and
 * variables with names in capitals, live on in a file from one snippet to the next.
 */
export function scriptOf({ text }: Snippet, stateFile: string): string {
  const variables = [...new Set([...text.matchAll(/\b([A-Z][A-Z_]+)=/g)].map(([, name]) => name!))];
  return [
    "set -eo pipefail",
    `[ ! -f ${stateFile} ] || . ${stateFile}`,
    text,
    `{ declare -f; ${variables.map((name) => `declare -p ${name} || :`).join("; ") || ":"}; } >> ${stateFile} 2> /dev/null`,
  ].join("\n");
}
