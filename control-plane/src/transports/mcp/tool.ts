// An action as a tool: its names, its hints and its schemas.
import type { Action } from "@hawser/contract";
import type { Tool } from "@modelcontextprotocol/server";
import { publishedSchemas } from "../../dispatch/published-schema.ts";

export function toolOf(name: string, action: Action, withResults: boolean): Tool {
  const { input, result } = publishedSchemas(action);
  return {
    name,
    title: titleOf(name),
    description: action.details ? `${action.summary} ${action.details}` : action.summary,
    inputSchema: input as Tool["inputSchema"],
    ...(withResults && { outputSchema: result }),
    annotations: {
      readOnlyHint: action.effect === "reads",
      destructiveHint: action.effect === "destroys",
      idempotentHint: action.effect === "reads" || action.idempotent === true,
      openWorldHint: action.reach === "host",
    },
  };
}

const spellings: Record<string, string> = {
  api: "API",
  github: "GitHub",
  whoami: "Who am I",
};

/** The title that people see: `list_github_repos` is "List GitHub repos". */
function titleOf(name: string): string {
  const words = name.split("_").map((word) => spellings[word] ?? word);
  const title = words.join(" ");
  return title.charAt(0).toUpperCase() + title.slice(1);
}
