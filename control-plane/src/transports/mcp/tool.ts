// An action as a tool: its name, its hints and its schemas. It has no title: clients show the name instead.
import type { Action } from "@hawser/contract";
import type { Tool, ToolAnnotations } from "@modelcontextprotocol/server";
import { publishedSchemas } from "../../dispatch/published-schema.ts";

export function toolOf(name: string, action: Action, withResults: boolean): Tool {
  const { input, result } = publishedSchemas(action);
  return {
    name,
    description: action.details ? `${action.summary} ${action.details}` : action.summary,
    inputSchema: input as Tool["inputSchema"],
    ...(withResults && { outputSchema: result }),
    annotations: hintsOf(action),
  };
}

/**
 * Only what differs from the protocol's defaults, because a model reads the whole list: a tool changes something,
 * destroys, is not idempotent, and reaches other systems. A tool that only reads has no other hints.
 */
function hintsOf({ effect, idempotent }: Action): ToolAnnotations {
  return {
    ...(effect === "reads" && { readOnlyHint: true }),
    ...(effect === "changes" && { destructiveHint: false }),
    ...(effect !== "reads" && idempotent && { idempotentHint: true }),
  };
}
