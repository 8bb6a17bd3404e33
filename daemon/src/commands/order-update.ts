// Replaces the daemon with the version that the service publishes, if the host's owner allows it.
// Replies when the update has begun.
import type { CommandResultOf } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import { describe } from "../log.ts";
import { requireReadable } from "../policy/forbidden.ts";
import type { CommandContext } from "./command.ts";

export async function orderUpdate({
  policy,
  updates,
}: CommandContext): Promise<CommandResultOf<"update_daemon">> {
  if (!requireReadable(policy()).installs) {
    const message =
      "The host's policy file does not allow the service to update the daemon. The host's owner can allow it with \"installs = yes\".";
    throw new CommandRefusal("not_allowed", message);
  }
  if (!updates) {
    const message = "This daemon was not started by hawserd run, so it cannot be replaced.";
    throw new CommandRefusal("not_supervised", message);
  }
  try {
    return await updates.order();
  } catch (error) {
    const message = `The daemon keeps its version, because the update failed: ${describe(error)}`;
    throw new CommandRefusal("update_failed", message);
  }
}
