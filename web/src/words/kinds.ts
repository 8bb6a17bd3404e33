// The names of the kinds of agents.
import { words } from "./words.ts";

/** Agent names as people write them in sentences. */
export function kindName(kind: string): string {
  if (kind !== "opencode" && kind !== "claude_code" && kind !== "codex") return kind;
  return words(`kind.${kind}`);
}
