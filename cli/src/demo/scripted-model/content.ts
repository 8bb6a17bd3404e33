// Reading the parts that the three protocols have in common: pieces of a message, names of tools.

/** The texts of a message whose content is a text or a list of parts. */
export function textsOf(content: unknown): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return (content as { text?: unknown }[]).flatMap(({ text }) =>
    typeof text === "string" ? [text] : [],
  );
}

/** The names of the tools offered, which some protocols wrap in a `function`. */
export function toolNames(tools: unknown): string[] {
  if (!Array.isArray(tools)) return [];
  return (tools as { name?: string; type?: string; function?: { name?: string } }[]).map(
    (tool) => tool.function?.name ?? tool.name ?? tool.type ?? "",
  );
}
