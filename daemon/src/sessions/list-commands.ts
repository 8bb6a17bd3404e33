// The slash commands that a session's agent has. A session that is detached stays so.
import type { SessionCommand } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import { commandsIn } from "../drivers/offer.ts";
import { checkProjectConfig } from "./project-config.ts";
import { asRefusal } from "./refusals.ts";
import type { Session } from "./session.ts";

/** An answer has to fit into one message. */
const mostCommands = 500;
const longestDescription = 200;

/** Throws refusals. */
export async function listCommands(
  session: Session,
  signal: AbortSignal,
): Promise<SessionCommand[]> {
  const { directory, kind } = session.require("command");
  try {
    const { driver } = session;
    if (!driver.abilities.commands) {
      throw new CommandRefusal("capability_missing", `${kind} sessions have no slash commands.`);
    }
    // First: the agent reads the directory whenever it is asked something.
    await checkProjectConfig(session);
    const commands = await commandsIn(driver, session.agent ?? {}, directory, signal);
    return commands.slice(0, mostCommands).map(({ description, ...command }) => ({
      ...command,
      description: description === null ? null : shortened(description),
    }));
  } catch (error) {
    throw asRefusal(error);
  }
}

/** The beginning, in one line. */
function shortened(text: string): string | null {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const cut =
    line.length <= longestDescription ? line : `${line.slice(0, longestDescription - 1)}…`;
  return cut.toWellFormed() || null;
}
