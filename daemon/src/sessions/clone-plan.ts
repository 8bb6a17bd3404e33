// Starting a session in a clone of its own. A clone can take longer than a caller waits for an answer,
// so the session's log says how it went: where the session works, or why there is none.
import { CommandRefusal } from "../command-refusal.ts";
import type { CheckoutPlan } from "../worktrees/checkouts.ts";
import type { Author } from "../worktrees/worktrees.ts";
import { checkStarting, type Plan } from "./begin.ts";
import { setAuthor } from "./files.ts";
import { refuseProjectConfig } from "./project-config.ts";
import type { Session } from "./session.ts";

/** The parts of a plan that a clone decides. */
export function planClone(
  plan: CheckoutPlan,
  author: Author | null | undefined,
): Pick<Plan, "locate" | "make" | "onBegun"> {
  const { directory, source } = plan;
  const { repo = null, url = null } = source;
  const checkout = { directory, repo, url, viaClient: repo !== null };
  return {
    locate: async () => ({
      directory,
      worktree: null,
      startedIn: directory,
      baseCommit: null,
      checkout,
    }),
    async make(session, driver, signal) {
      const { checkouts, pushes, worktrees } = session.host;
      const leftOut = await stoppable(session, signal, (until) =>
        checkouts.make(plan, driver.sparsePatterns, until),
      );
      checkStarting(session);
      await setAuthor(session, directory, author, signal);
      const origin = await pushes.readOrigin(directory, signal);
      const baseCommit = await worktrees.headOf(directory, signal);
      checkStarting(session);
      session.change({ origin, baseCommit });
      await refuseProjectConfig(session.host, driver, directory);
      return [...leftOut, ...((await driver.findIgnoredConfig?.(directory)) ?? [])];
    },
    // The log has the mode, trusted parts and a fallback in entries of their own.
    onBegun: (session, { mode: _mode, trustedParts: _parts, taken: _taken, ...placed }) =>
      session.note({ sessionUpdate: "session_placed", ...placed }),
  };
}

/** Runs long work of a start so that the end of the session, and the daemon's, can stop it and wait for it. */
export async function stoppable<T>(
  session: Session,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const running = work(AbortSignal.any([signal, controller.signal]));
  const done = running.then(ignore, ignore);
  session.work = { type: "clone", start: { controller, done } };
  try {
    return await running;
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    const message =
      "The start was stopped while it made the session's files. Nothing is left of it.";
    throw new CommandRefusal("interrupted", message);
  } finally {
    session.work = { type: "none" };
  }
}

const ignore = () => {};

/** Stops a clone that is being made, and waits until it has stopped. */
export async function stopClone({ work }: Session): Promise<void> {
  if (work.type !== "clone") return;
  work.start.controller.abort();
  await work.start.done;
}
