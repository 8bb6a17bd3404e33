// Installs an agent in the version that the service ships. Replies at once if that version is there;
// otherwise waits for as long as the command says, and replies that the install continues.
import type { CommandResultOf, PayloadOf } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import { InstallRefused } from "../installs/refused.ts";
import { within } from "../pause.ts";
import type { CommandContext } from "./command.ts";

export async function orderInstall(
  { kind, waitMs }: PayloadOf<"install_agent">,
  { installs }: CommandContext,
): Promise<CommandResultOf<"install_agent">> {
  if (!installs) throw new CommandRefusal("no_installs", "This daemon installs no agents.");
  try {
    const { version, done } = await installs.order(kind);
    const isDone = done === undefined || (await within(waitMs, done));
    return { status: isDone ? "installed" : "in_progress", version };
  } catch (error) {
    if (error instanceof InstallRefused) throw new CommandRefusal(error.code, error.message);
    throw error;
  }
}
