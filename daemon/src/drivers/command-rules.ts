// Rules of the host's policy for shell commands that an agent may run without asking.

/**
 * Whether a rule covers a single command. A rule that ends with ` *` covers a command with any arguments.
 */
export function ruleCovers(rule: string, command: string): boolean {
  if (!rule.endsWith(" *")) return command === rule;
  return command === rule.slice(0, -2) || command.startsWith(rule.slice(0, -1));
}
