// Ending a session: its turn is stopped, the agent's own session ended, its processes with it, and its
// worktree or clone put aside. What cannot be done is said, and the session stays as one that is being
// ended until it can; a daemon that is killed meanwhile goes on with it when it comes back.
import { CommandRefusal } from "../command-refusal.ts";
import { describe } from "../log.ts";
import { within } from "../pause.ts";
import { attach, letGo } from "./attach.ts";
import { stopStart } from "./clone-starts.ts";
import { note, type Core } from "./core.ts";
import { parkingOf } from "./file-work.ts";
import { withdrawRequests } from "./requests.ts";
import { undoStart } from "./starts.ts";
import { abortTurn } from "./turns.ts";

const agentMs = 5_000;

/** Throws a refusal when something is left that should be gone. Those who come meanwhile share it. */
export function endSession(core: Core, sessionId: string): Promise<void> {
  const live = core.live(sessionId);
  live.ending ??= end(core, sessionId).finally(() => {
    live.ending = undefined;
    if (!core.journal.driven.get(sessionId)) core.forget(sessionId);
  });
  return live.ending;
}

async function end(core: Core, sessionId: string): Promise<void> {
  const { driven } = core.journal;
  if (driven.hasEnded(sessionId)) return;
  const session = driven.get(sessionId);
  // A start that comes late finds that it has ended.
  if (!session) return driven.markEnded(sessionId);
  if (session.state === "starting") {
    driven.change(sessionId, { state: "ending" });
    await stopStart(core, sessionId);
    await undoStart(core, session);
    await park(core, sessionId, false);
    return driven.markEnded(sessionId);
  }
  // From here on no prompt is taken.
  driven.change(sessionId, { state: "ending" });
  await abortTurn(core, sessionId, "The session was ended.");
  await endAgent(core, sessionId);
  await core.reap();
  await park(core, sessionId, true);
  core.journal.atOnce(() => {
    withdrawRequests(core, sessionId, "The session was ended.");
    note(core, sessionId, { sessionUpdate: "session_status", status: "ended", reason: null });
    driven.markEnded(sessionId);
  });
  core.lane.clear(sessionId);
  core.log.info("a session was ended", { sessionId });
  void core.reap();
}

/** One that cannot be reached is left to itself: what matters is that nothing runs in the directory. */
async function endAgent(core: Core, sessionId: string): Promise<void> {
  try {
    const ended = attach(core, sessionId).then((agent) => agent.end(AbortSignal.timeout(agentMs)));
    if (!(await within(agentMs, ended))) throw new Error("The agent did not answer in time.");
  } catch (error) {
    core.log.warn("an agent's session was not ended", { sessionId, error: describe(error) });
  }
  letGo(core, sessionId);
}

async function park(core: Core, sessionId: string, isTold: boolean): Promise<void> {
  const { driven } = core.journal;
  const session = driven.get(sessionId);
  if (!session) return;
  await core.live(sessionId).fileWork;
  const { worktree, checkout } = session;
  if (!worktree && !checkout) return;
  try {
    await core.worktrees.park(sessionId, worktree, parkingOf(core, session));
  } catch (error) {
    const what = checkout ? "clone" : "worktree";
    const reason = `The session's ${what} could not be put aside: ${describe(error)}`;
    if (isTold) {
      note(core, sessionId, { sessionUpdate: "session_status", status: "cleanup_failed", reason });
    }
    throw new CommandRefusal("cleanup_failed", reason);
  }
}
