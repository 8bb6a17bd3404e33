// The work of a start on files and texts, which the end of the session, and the daemon's, can stop and wait for:
// what a start still writes cannot be removed.
import { CommandRefusal } from "../command-refusal.ts";
import type { Session } from "./session.ts";

/** Throws a refusal if the work was stopped. */
export async function stoppable<T>(
  session: Session,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const running = work(AbortSignal.any([signal, controller.signal]));
  const done = running.then(ignore, ignore);
  session.work = { type: "start", start: { controller, done } };
  try {
    return await running;
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    checkStarting(session);
    const message =
      "The start was stopped while it made the session's files. Nothing is left of it.";
    throw new CommandRefusal("interrupted", message);
  } finally {
    session.work = { type: "none" };
  }
}

const ignore = () => {};

/** Throws if the session was ended while it started. */
export function checkStarting(session: Session): void {
  if (session.state === "starting") return;
  throw new CommandRefusal("session_ended", "The session was ended while it started.");
}

/** Stops a start that is under way, and waits until it has stopped. */
export async function stopStart({ work }: Session): Promise<void> {
  if (work.type !== "start") return;
  work.start.controller.abort();
  await work.start.done;
}
