// Removes from opencode's answers what must not leave the host: sessions that the exposure does not reach,
// directories of others, and the keys of model providers.
import { isObject } from "../../drivers/is-object.ts";
import type { Answer } from "./routes.ts";

type Json = Record<string, unknown>;

/** What the exposure reaches. */
export interface Shown {
  directories: readonly string[];
  /** Whether a session is reached, given as opencode describes it or by its id. */
  reaches: (session: { id: string; parentID?: string | undefined }) => boolean;
}

/** An answer of an unexpected form becomes an empty one. */
export function cleanAnswer(kind: Answer, value: unknown, shown: Shown): unknown {
  return cleaning[kind](value, shown);
}

const cleaning: Record<Answer, (value: unknown, shown: Shown) => unknown> = {
  unchanged: (value) => value,
  sessions: (value, { reaches }) => listOf(value).filter((each) => reachesSession(each, reaches)),
  requests: (value, { reaches }) =>
    listOf(value).filter(
      ({ sessionID }) => typeof sessionID === "string" && reaches({ id: sessionID }),
    ),
  statuses: (value, { reaches }) =>
    Object.fromEntries(
      Object.entries(isObject(value) ? value : {}).filter(([id]) => reaches({ id })),
    ),
  config: (value) => pick(value, configKeys),
  providers: (value) => withoutSecrets(value),
  project: (value, shown) => (isObject(value) ? (projectOf(value, shown)[0] ?? {}) : {}),
  projects: (value, shown) => listOf(value).flatMap((each) => projectOf(each, shown)),
  agents: (value) => listOf(value).map((each) => withoutSecrets(each)),
};

const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

function reachesSession({ id, parentID }: Json, reaches: Shown["reaches"]): boolean {
  const parent = typeof parentID === "string" ? parentID : undefined;
  return typeof id === "string" && reaches({ id, parentID: parent });
}

/** A project is named by those of its worktrees that are reached. */
function projectOf(value: Json, { directories }: Shown): Json[] {
  const { worktree, sandboxes } = value;
  const all = [worktree, ...(Array.isArray(sandboxes) ? (sandboxes as unknown[]) : [])];
  const [first, ...others] = directories.filter((directory) => all.includes(directory));
  if (first === undefined) return [];
  return [{ ...pick(value, projectKeys), worktree: first, sandboxes: others }];
}

/** Without providers, MCP servers, plugins, instructions and the texts of agents and commands. */
const configKeys = [
  "$schema",
  "autoupdate",
  "compaction",
  "default_agent",
  "disabled_providers",
  "enabled_providers",
  "formatter",
  "keybinds",
  "layout",
  "lsp",
  "model",
  "permission",
  "share",
  "small_model",
  "snapshot",
  "subagent_depth",
  "theme",
  "tui",
];
const projectKeys = ["id", "worktree", "vcs", "name", "icon", "time"];

function pick(value: unknown, keys: readonly string[]): Json {
  if (!isObject(value)) return {};
  return Object.fromEntries(keys.flatMap((key) => (key in value ? [[key, value[key]]] : [])));
}

/** Settings of providers and models go to them with each request, so they may contain anything secret. */
const emptied = new Set(["options", "headers", "request", "body", "settings"]);
const dropped = /^key$|api[-_]?key|token$|secret|password|authorization|credential/i;

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      if (emptied.has(name)) return [[name, {}]];
      if (dropped.test(name) && typeof inner === "string") return [];
      return [[name, withoutSecrets(inner)]];
    }),
  );
}
