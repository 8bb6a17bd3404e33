// Which of its tools a client is offered. By default these are all actions that its key may call, except those of
// groups that are offered on request. A client selects others with the query of the address or with headers, and
// repeats that with every request, because the server keeps no connections. What was not selected cannot be called
// either.
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

type Setting = keyof typeof settings;
const settingNames = Object.keys(settings) as Setting[];

/**
 * Reads the selection of a request. The query precedes the headers, but read-only holds if either of them says so.
 * What is not understood is refused: a client that misspells a limit must not get everything.
 */
export function selectionOf(
  request: Request,
  actions: Actions,
  groupsOnRequest: readonly string[],
): Selection {
  const query = new URL(request.url).searchParams;
  refuseUnknown(query, request.headers);
  const inQuery = (name: Setting) => query.get(name) ?? undefined;
  const inHeader = (name: Setting) => request.headers.get(settings[name]) ?? undefined;
  const setting = (name: Setting) => inQuery(name) ?? inHeader(name);
  const groups = new Set(Object.values(actions).map(({ group }) => group));
  const toolsets = namesIn("toolsets", setting("toolsets"), groups);
  const tools = namesIn("tools", setting("tools"), new Set(Object.keys(actions)));
  if (toolsets && tools) refuse("tools", "must not be combined with toolsets");
  const readOnly = [inQuery, inHeader].map((place) => switchIn("readonly", place("readonly")));
  const isReadOnly = readOnly.includes(true);
  return {
    includes: (name, { group, effect }) =>
      (toolsets?.has(group) ?? tools?.has(name) ?? !groupsOnRequest.includes(group)) &&
      (!isReadOnly || effect === "reads"),
    withResults: switchIn("outputSchemas", setting("outputSchemas")),
  };
}

function refuseUnknown(query: URLSearchParams, headers: Headers): void {
  const known = new Set<string>(settingNames);
  for (const name of query.keys()) {
    if (!known.has(name)) refuseName(name, settingNames);
    if (query.getAll(name).length > 1) {
      refuse(name, "is given more than once: write it once, with a comma between names");
    }
  }
  const headerNames = Object.values(settings);
  for (const name of headers.keys()) {
    if (name.startsWith("x-mcp-") && !headerNames.some((known) => known === name)) {
      refuseName(name, headerNames);
    }
  }
}

/** Refuses an unknown name with the one that is meant, or with all of them. */
function refuseName(name: string, known: readonly string[]): never {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, "");
  const meant = known.find((each) => plain(each) === plain(name));
  const advice = meant === undefined ? `the settings are ${known.join(", ")}` : `write ${meant}`;
  refuse(name.slice(0, 60).toWellFormed(), `is not a setting: ${advice}`);
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
