// Whether a session may be given work at all, in the words of a refusal.
import { CommandRefusal } from "../command-refusal.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import { mayWork, type Core } from "./core.ts";

/** Throws a refusal for one that has ended. */
export function openSession(core: Core, sessionId: string): DrivenSession {
  const session = core.journal.driven.get(sessionId);
  if (session && mayWork(session)) return session;
  throw new CommandRefusal("session_ended", "The session has ended. Start another.");
}

/** Throws a refusal while something runs or waits to run. */
export function openIdle(core: Core, sessionId: string): DrivenSession {
  const session = openSession(core, sessionId);
  if (!core.journal.log.acceptsTurns()) throw journalFull();
  if (core.journal.driven.prompts(sessionId).length === 0) return session;
  const message = "A turn is running. Wait for its end, or stop it with abort_session.";
  throw new CommandRefusal("turn_running", message);
}

export const journalFull = () =>
  new CommandRefusal(
    "journal_full",
    "The host has recorded more than the service has taken yet. Try again when it has caught up.",
  );
