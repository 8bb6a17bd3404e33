// Rewrites the text of a skill, command or sub-agent of a trusted repository, so that it can be nothing but
// text. Its front matter can contain hooks, which would run without a request, and the name of one of Claude
// Code's own commands. A path after `@` would be read without a request.

const keptFields = new Set(["description", "argument-hint", "model", "tools"]);

/** Replaces the front matter. The body cannot be parsed as front matter, because it follows a complete one. */
export function plainText(text: string, { keepsName }: { keepsName: boolean }): string {
  const found = /^\uFEFF?---[^\S\n]*\n(?<head>.*?)\n---[^\S\n]*(?:\n|$)(?<body>.*)$/s.exec(
    text.replaceAll("\r\n", "\n"),
  )?.groups;
  const fields = [...fieldsIn(found?.["head"] ?? "", keepsName)].map(
    ([name, value]) => `${name}: ${JSON.stringify(value)}\n`,
  );
  const body = found?.["body"] ?? text;
  return `---\n# Other fields were removed.\n${fields.join("")}---\n${separate(body)}`;
}

/**
 * Separates every `@` from what follows: a name without a slash can be a link that leads to a secret. Separates
 * every place for arguments too: each argument is judged alone, and several could be joined to a path.
 */
const separate = (body: string) =>
  body
    .replaceAll(/@(?=\S)/g, "@ ")
    .replaceAll(/(?<=\S)(?=\$(?:ARGUMENTS|\d))/g, " ")
    .replaceAll(/\$(?:ARGUMENTS(?:\[\d+\])?(?!\[\d+\])|\d+(?!\d))(?=\S)/g, "$& ");

/** Fields with one text, or a list of texts, which is joined by commas. */
function fieldsIn(head: string, keepsName: boolean): Map<string, string> {
  const fields = new Map<string, string>();
  let name: string | undefined;
  for (const line of head.split("\n")) {
    const field = /^(?<name>[\w-]+):(?<value>.*)$/.exec(line)?.groups;
    if (field) {
      const isKept = keptFields.has(field["name"]!) || (keepsName && field["name"] === "name");
      name = isKept ? field["name"]! : undefined;
      if (name !== undefined) fields.set(name, plain(field["value"]!));
    } else if (name !== undefined && /^\s/.test(line)) {
      const item = /^\s+-\s+(?<item>.*)$/.exec(line)?.groups?.["item"];
      const before = fields.get(name)!;
      const joint = before === "" ? "" : item === undefined ? " " : ", ";
      fields.set(name, `${before}${joint}${plain(item ?? line)}`);
    } else {
      name = undefined;
    }
  }
  return fields;
}

/** A value without quotes, and without the marks of a text of several lines. */
function plain(value: string): string {
  const trimmed = value.trim();
  if (/^[>|][+-]?$/.test(trimmed)) return "";
  if (/^'.*'$/.test(trimmed)) return trimmed.slice(1, -1).replaceAll("''", "'");
  if (!/^".*"$/.test(trimmed)) return trimmed;
  try {
    return JSON.parse(trimmed) as string;
  } catch {
    return trimmed.slice(1, -1);
  }
}
