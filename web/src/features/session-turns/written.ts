// What a text in the composer is: a prompt, one of the agent's slash commands, or a command for the shell.

/** The beginning of a slash command while its name is typed; undefined for other texts. */
export function typedCommand(text: string): string | undefined {
  return /^\/([^\s/]*)$/.exec(text)?.[1];
}

/** The name that a text may give to a slash command; undefined if it cannot be one, such as a path. */
export function namedCommand(text: string): string | undefined {
  return /^\/([^\s/]+)(?:\s|$)/.exec(text)?.[1];
}

/** The line for the shell; undefined for other texts. */
export function shellLine(text: string): string | undefined {
  const line = /^!([^]*)$/.exec(text)?.[1]?.trim();
  return line === "" ? undefined : line;
}
