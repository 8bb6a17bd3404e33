// The groups of actions: tags in the OpenAPI document, toolsets of the MCP server, sections of the
// reference.

/** Each group, with what its actions are about. */
export const groups = {
  sessions: "Starting sessions, prompting their agents, following and ending them.",
  requests: "Permissions and questions that agents wait for.",
  hosts: "Hosts, their agents and daemons, linked accounts and direct access.",
  code: "Directories and repositories of hosts, and the changes of sessions.",
  schedules: "Prompts that start new sessions at set times or when something happens.",
  webhooks: "Events that are sent to other systems.",
  access: "Keys, members, settings and the audit trail.",
  people: "Roles, and how people get access.",
  queue: "Prompts of a session that wait for an earlier turn.",
  reading:
    "Turns, commits, commands and stored rules of sessions, texts in their logs, single requests, and how far people have read.",
} as const;

/** Groups that the MCP server offers only to clients that select them, so that its list stays small. */
export const groupsOnRequest: readonly (keyof typeof groups)[] = ["people", "queue", "reading"];
