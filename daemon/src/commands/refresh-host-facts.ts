// refresh_host_facts: looks at the machine again.
import type { Command } from "./command.ts";

export const refreshHostFacts: Command<"refresh_host_facts"> = {
  repeatable: true,
  endsHost: false,
  async run(_payload, { bootId, journal, refreshFacts }) {
    const facts = await refreshFacts();
    return () => ({ runs: journal.count("refresh_host_facts"), facts, bootId });
  },
};
