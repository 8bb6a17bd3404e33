// install_agent: has the host bring an agent to the version the service ships. Answers at once when it
// is there already; else it waits as long as it is told, and says that the install goes on.
import { InstallRefused } from "../installs/refused.ts";
import { within } from "../pause.ts";
import { CommandRefusal } from "../command-refusal.ts";
import type { Command } from "./command.ts";

export const installAgent: Command<"install_agent"> = {
  repeatable: true,
  endsHost: false,
  async run({ kind, waitMs }, { installs }) {
    if (!installs) throw new CommandRefusal("no_installs", "This daemon installs no agents.");
    try {
      const { version, done } = await installs.order(kind);
      const isDone = done === undefined || (await within(waitMs, done));
      return { status: isDone ? "installed" : "in_progress", version };
    } catch (error) {
      if (error instanceof InstallRefused) throw new CommandRefusal(error.code, error.message);
      throw error;
    }
  },
};
