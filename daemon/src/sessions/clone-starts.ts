// Starting a session in a clone of its own. A clone can take longer than anybody waits for an answer,
// so how it went is also told in the session's log: where it works now, or why there is nothing of it.
import { CommandRefusal } from "../command-refusal.ts";
import type { Driver } from "../drivers/driver.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import type { CheckoutPlan } from "../worktrees/checkouts.ts";
import type { Author } from "../worktrees/worktrees.ts";
import { note, type Core } from "./core.ts";
import { setAuthor } from "./file-work.ts";
import type { StartedSession } from "./starts.ts";

/**
 * Runs what begins a session so that its end, and the daemon's, stop it and wait until it has stopped.
 * Only a clone needs that: everything else is done in a moment.
 */
async function stoppable<T>(
  core: Core,
  sessionId: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const live = core.live(sessionId);
  const controller = new AbortController();
  const running = work(AbortSignal.any([signal, controller.signal]));
  live.starting = { controller, done: running.then(ignore, ignore) };
  try {
    return await running;
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    const message = "The start was stopped while it cloned. Nothing is left of it.";
    throw new CommandRefusal("interrupted", message);
  } finally {
    live.starting = undefined;
  }
}

const ignore = () => {};

/** Ends a start that is under way, and waits until it has. */
export async function stopStart(core: Core, sessionId: string): Promise<void> {
  const { starting } = core.live(sessionId);
  starting?.controller.abort();
  await starting?.done;
}

/** Gives the files that it was checked out without. */
export async function makeCheckout(
  core: Core,
  driver: Driver,
  plan: CheckoutPlan,
  author: Author | null | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  const { sessionId } = plan;
  const leftOut = await stoppable(core, sessionId, signal, (until) =>
    core.checkouts.make(plan, driver.sparsePatterns, until),
  );
  await setAuthor(core, plan, author, signal);
  const origin = await core.pushes.readOrigin(plan.directory, signal);
  const baseCommit = await core.worktrees.headOf(plan.directory, signal);
  const { driven } = core.journal;
  if (driven.get(sessionId)) driven.change(sessionId, { origin, baseCommit });
  return leftOut;
}

/** Tells those who did not wait for the answer. In the commit that makes the session count. */
export function noteCloned(core: Core, sessionId: string, started: StartedSession): void {
  note(core, sessionId, { sessionUpdate: "session_placed", ...started });
}

/** For one that is gone from the host without having begun, unless it was ended meanwhile. */
export function noteNotCloned(core: Core, session: DrivenSession, error: unknown): void {
  const { sessionId, checkout, restoredFrom } = session;
  const { driven, log } = core.journal;
  if (!checkout || restoredFrom || driven.get(sessionId) || driven.hasEnded(sessionId)) return;
  core.journal.atOnce(() => {
    log.introduce(sessionId);
    const reason = describe(error);
    note(core, sessionId, { sessionUpdate: "session_status", status: "ended", reason });
    driven.markEnded(sessionId);
  });
}
