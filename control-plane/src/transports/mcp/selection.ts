// Which of its tools a client is offered. By default these are all actions that its key may call. A client
// narrows them with the query of the address or with headers, and repeats that with every request, because
// the server keeps no connections. What was not selected cannot be called either.
import { Refusal, type Action, type Actions } from "@hawser/contract";

export interface Selection {
  includes(name: string, action: Action): boolean;
  /** Whether the list of tools contains the schemas of results. */
  withResults: boolean;
}

/** The settings of a selection: the name in the query, and the header with the same meaning. */
const settings = {
  toolsets: "x-mcp-toolsets",
  tools: "x-mcp-tools",
  readonly: "x-mcp-readonly",
  outputSchemas: "x-mcp-output-schemas",
} as const;

/** Reads the selection of a request. The query precedes the headers. */
export function selectionOf(request: Request, actions: Actions): Selection {
  const query = new URL(request.url).searchParams;
  const setting = (name: keyof typeof settings) =>
    query.get(name) ?? request.headers.get(settings[name]) ?? undefined;
  const groups = new Set(Object.values(actions).map(({ group }) => group));
  const toolsets = namesIn("toolsets", setting("toolsets"), groups);
  const tools = namesIn("tools", setting("tools"), new Set(Object.keys(actions)));
  if (toolsets && tools) refuse("tools", "must not be combined with toolsets");
  const isReadOnly = switchIn("readonly", setting("readonly"));
  return {
    includes: (name, { group, effect }) =>
      (!toolsets || toolsets.has(group)) &&
      (!tools || tools.has(name)) &&
      (!isReadOnly || effect === "reads"),
    withResults: switchIn("outputSchemas", setting("outputSchemas")),
  };
}

function namesIn(
  field: string,
  text: string | undefined,
  known: ReadonlySet<string>,
): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined;
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) {
    const choices = known.size > 20 ? "" : `: the names are ${[...known].join(", ")}`;
    refuse(field, `has an unknown name, ${JSON.stringify(unknown.slice(0, 60))}${choices}`);
  }
  if (names.length === 0) refuse(field, "must name at least one");
  return new Set(names);
}

function switchIn(field: string, text: string | undefined): boolean {
  if (text === undefined || text === "false") return false;
  return text === "true" || refuse(field, "must be true or false");
}

function refuse(field: string, message: string): never {
  throw new Refusal("invalid_input", `The selection of tools is not valid: ${field} ${message}.`, {
    fields: [{ field, message }],
  });
}
