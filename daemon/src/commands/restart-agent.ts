// restart_agent: ends the processes of a kind; its sessions come back with their next prompt.
import type { Command } from "./command.ts";

export const restartAgent: Command<"restart_agent"> = {
  repeatable: true,
  endsHost: false,
  async run({ kind }, { sessions, signal }) {
    return { detachedSessionIds: await sessions.restartAgent(kind, signal) };
  },
};
