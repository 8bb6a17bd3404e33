// Parses the text of a git configuration without git: this happens for thousands of repositories, and
// parsing runs no program. Includes are not followed.

/** The values of a text by name: `remote.origin.url`, section and variable in lower case. */
export function parseConfigText(text: string): Map<string, string[]> {
  const values = new Map<string, string[]>();
  let section = "";
  for (const line of joinLines(text)) {
    let rest = line.trim();
    const header = /^\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]/.exec(rest);
    if (header) {
      const [whole, name = "", subsection] = header;
      const quoted = subsection?.replace(/\\(.)/g, "$1");
      section = quoted === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${quoted}`;
      rest = rest.slice(whole.length).trim();
    }
    const [, name, value] = /^([a-z][a-z0-9-]*)\s*(?:=\s*(.*))?$/i.exec(rest) ?? [];
    if (name === undefined) continue;
    const key = `${section}.${name.toLowerCase()}`;
    const known = values.get(key);
    const read = readValue(value ?? "");
    if (known) known.push(read);
    else values.set(key, [read]);
  }
  return values;
}

/** A line that ends in an odd number of backslashes continues on the next. */
function* joinLines(text: string): Generator<string> {
  let kept = "";
  for (const line of text.split(/\r?\n/)) {
    const isContinued = /(?:^|[^\\])(?:\\\\)*\\$/.test(line) && !/^\s*[#;]/.test(line);
    kept += isContinued ? line.slice(0, -1) : line;
    if (isContinued) continue;
    yield kept;
    kept = "";
  }
  if (kept !== "") yield kept;
}

/** Removes quotes and comments, and resolves escaped characters. */
function readValue(written: string): string {
  const escaped: Record<string, string> = { n: "\n", t: "\t", b: "\b" };
  let value = "";
  /** Blanks at the end count only if they are quoted. */
  let kept = 0;
  let isQuoted = false;
  for (let i = 0; i < written.length; i++) {
    const character = written[i]!;
    if (character === "\\" && i + 1 < written.length) {
      const next = written[++i]!;
      value += escaped[next] ?? next;
    } else if (character === '"') {
      isQuoted = !isQuoted;
      kept = value.length;
      continue;
    } else if (!isQuoted && (character === "#" || character === ";")) {
      break;
    } else {
      value += character;
    }
    if (isQuoted || !/\s/.test(character)) kept = value.length;
  }
  return value.slice(0, kept);
}
