// What goes wrong below the session layer, as a command's refusal.
import { CommandRefusal } from "../command-refusal.ts";
import { AgentNotReady, NotOffered, SessionGone } from "../drivers/driver.ts";
import { JournalFull } from "../journal/journal.ts";
import { ProjectConfigPresent } from "./project-config.ts";

/** Returns the same error if there is no refusal for it. */
export function asRefusal(error: unknown): unknown {
  if (error instanceof AgentNotReady) return new CommandRefusal("agent_not_ready", error.message);
  if (error instanceof SessionGone) {
    const message = "The agent no longer has this session. End it, and start another.";
    return new CommandRefusal("agent_not_ready", message);
  }
  if (error instanceof NotOffered) {
    return new CommandRefusal("invalid_input", error.message, error.field);
  }
  if (error instanceof ProjectConfigPresent) {
    return new CommandRefusal("project_config_present", error.message);
  }
  if (error instanceof JournalFull) return new CommandRefusal("journal_full", error.message);
  return error;
}
