// Which calls fold into one line, and that line's words: "Read 14 files, searched 3 times, ran 2 commands". All tools
// alike, those of MCP servers too.
import { words } from "../../words/words.ts";
import { toolName } from "./call-words.ts";
import type { Call } from "./row.ts";

/** Edits change something, so each is worth a line of its own. */
const neverFolded = new Set(["edit", "delete", "move"]);

/** Running, failed and unfinished calls stay out: a person may have to look at them. */
export function folds({ kind, state }: Call): boolean {
  return state === "completed" && !neverFolded.has(kind);
}

const counted = new Set(["read", "search", "execute", "fetch"] as const);
type Counted = "read" | "search" | "execute" | "fetch";
const isCounted = (kind: string): kind is Counted => counted.has(kind as Counted);

/** More different tools than this would make the line longer than what it hides. */
const mostNamed = 3;

/** The line's words. Kinds stand in the order of their first call, and named tools after them. */
export function foldWords(calls: readonly Call[]): string {
  const kinds = new Map<Counted, number>();
  const tools = new Map<string, number>();
  for (const { kind, title } of calls) {
    if (isCounted(kind)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    else tools.set(toolName(title), (tools.get(toolName(title)) ?? 0) + 1);
  }
  const parts = [...kinds].map(([kind, n]) => words(`fold.${kind}`, { n }));
  if (tools.size > mostNamed) {
    const n = [...tools.values()].reduce((sum, count) => sum + count, 0);
    parts.push(words("fold.others", { tools: tools.size, n }));
  } else {
    parts.push(...[...tools].map(([tool, n]) => words("fold.used", { tool, n })));
  }
  const line = parts.join(", ");
  return line.charAt(0).toUpperCase() + line.slice(1);
}

/** From the first beginning to the last end. */
export function foldMs(calls: readonly Call[]): number {
  const starts = calls.map(({ at }) => Date.parse(at));
  const ends = calls.map(({ at, endedAt }) => Date.parse(endedAt ?? at));
  return Math.max(0, Math.max(...ends) - Math.min(...starts));
}
