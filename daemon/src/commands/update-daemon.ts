// update_daemon: replaces the daemon by the version that the service publishes, if the owner of the
// host allows it. Answers when the update has begun.
import { describe } from "../log.ts";
import { CommandRefusal } from "../command-refusal.ts";
import type { Command } from "./command.ts";

export const updateDaemon: Command<"update_daemon"> = {
  repeatable: true,
  endsHost: false,
  async run(_payload, { policy, updates }) {
    if (!policy().installs) {
      const message = "The policy of this host does not allow the service to update its daemon.";
      throw new CommandRefusal("not_allowed", message);
    }
    if (!updates) {
      const message = "This daemon was not started by hawserd run, so it cannot be replaced.";
      throw new CommandRefusal("not_supervised", message);
    }
    try {
      return await updates.order();
    } catch (error) {
      const message = `The daemon works on as it is, because there is no update: ${describe(error)}`;
      throw new CommandRefusal("update_failed", message);
    }
  },
};
