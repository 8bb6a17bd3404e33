// list_agents: looks which agents there are.
import type { Command } from "./command.ts";

export const listAgents: Command<"list_agents"> = {
  repeatable: true,
  endsHost: false,
  async run(_payload, { installs, refreshFacts }) {
    const { agents } = installs?.look() ?? (await refreshFacts());
    return { agents };
  },
};
