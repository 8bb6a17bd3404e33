// Starting a session in a clone of its own. A clone can take longer than a caller waits for an answer,
// so the session's log says how it went: where the session works, or why there is none.
import type { CheckoutPlan } from "../worktrees/checkouts.ts";
import type { Author } from "../worktrees/worktrees.ts";
import type { Plan, StartedSession } from "./begin.ts";
import { setAuthor } from "./files.ts";
import { refuseProjectConfig } from "./project-config.ts";
import type { Session } from "./session.ts";
import { checkStarting } from "./start-work.ts";

/** The parts of a plan that a clone decides. */
export function planClone(
  plan: CheckoutPlan,
  author: Author | null | undefined,
  /** The origin of the repository that is cloned, if that is one of this host. */
  readOrigin?: (signal: AbortSignal) => Promise<string | null>,
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
      const leftOut = await checkouts.make(plan, driver.sparsePatterns, signal);
      checkStarting(session);
      await setAuthor(session, directory, author, signal);
      const origin = await (readOrigin?.(signal) ?? pushes.readOrigin(directory, signal));
      const baseCommit = await worktrees.headOf(directory, signal);
      checkStarting(session);
      session.change({ origin, baseCommit });
      await refuseProjectConfig(session.host, driver, directory);
      return [...leftOut, ...((await driver.findIgnoredConfig?.(directory)) ?? [])];
    },
    onBegun: notePlaced,
  };
}

/** The log has the mode, trusted parts, a fallback and an account in entries of their own. */
export function notePlaced(session: Session, started: StartedSession): void {
  const { directory, worktreeBranch, model, capabilities } = started;
  session.note({
    sessionUpdate: "session_placed",
    directory,
    worktreeBranch,
    model,
    capabilities,
  });
}
