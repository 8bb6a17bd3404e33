// run_command: takes one of the agent's slash commands, which runs as a turn of its own.
import type { Command } from "./command.ts";

export const runCommand: Command<"run_command"> = {
  // As a prompt is.
  repeatable: true,
  endsHost: false,
  run: ({ sessionId, command, arguments: text, agent }, { sessions, signal }) =>
    sessions.prompt({ sessionId, text, agent, task: { type: "command", name: command } }, signal),
};
