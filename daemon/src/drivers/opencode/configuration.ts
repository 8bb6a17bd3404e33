// The configuration of the opencode server, which overrides that of the host's user. opencode asks about
// every call, so that the driver can decide about it, and runs no programs of its own.

export interface Rule {
  permission: string;
  pattern: string;
  action: "allow" | "ask" | "deny";
}

/** Rules of one session. They override the rules of the agent that a prompt names, but not a sub-agent's. */
export const sessionRules: readonly Rule[] = [{ permission: "*", pattern: "*", action: "ask" }];

export const configurationWith = (shell: string) => ({
  autoupdate: false,
  share: "disabled",
  shell,
  // Snapshots are the session layer's: opencode's own would run git inside submodules and nested
  // repositories, with their configuration.
  snapshot: false,
  // The last rule that matches counts, and a rule of the user keeps its place. So the rule about everything
  // has a name that users do not use for theirs.
  permission: { "*": "ask", "**": "ask" },
  // Formatters and language servers are programs of the repository, run without asking.
  formatter: false,
  lsp: false,
  // Only the root of a session asks before it starts a sub-agent that its prompt mentions.
  subagent_depth: 1,
  // A refused call does not end the turn. opencode refuses the calls beside it too.
  experimental: { continue_loop_on_deny: true },
});

/**
 * Whether opencode asks about every call of an agent with these rules. False if the host's user has given
 * the agent permissions of its own. Rules about directories do not count: opencode asks about the call too.
 */
export function asksAlways(rules: readonly Rule[]): boolean {
  const own = rules.filter(({ permission }) => permission !== "external_directory");
  const last = own.findLastIndex(({ permission, pattern, action }) => {
    return /^\*+$/.test(permission) && pattern === "*" && action === "ask";
  });
  return last !== -1 && own.slice(last).every(({ action }) => action !== "allow");
}
