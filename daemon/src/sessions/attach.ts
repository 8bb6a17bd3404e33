// Having a session's agent at hand: the one that serves it now, or the one that takes it up again.
import { AgentNotReady, type AgentSession, type SessionSettings } from "../drivers/driver.ts";
import { describe } from "../log.ts";
import { checkProjectConfig, driverOf, mayWork, setStatus, type Core } from "./core.ts";
import { loseNow, openListening } from "./listening.ts";
import { grant } from "./requests.ts";

const resumeMs = 20_000;
const stuckMs = 5_000;

/**
 * Throws AgentNotReady, SessionGone or ProjectConfigPresent. When the agent cannot be had, the turn it
 * ran is over, and the session's status says so.
 */
export function attach(core: Core, sessionId: string): Promise<AgentSession> {
  const live = core.live(sessionId);
  if (live.agent) return Promise.resolve(live.agent);
  live.attaching ??= resume(core, sessionId)
    .catch((error: unknown) => {
      loseNow(core, sessionId, error);
      throw error;
    })
    .finally(() => {
      live.attaching = undefined;
    });
  return live.attaching;
}

async function resume(core: Core, sessionId: string): Promise<AgentSession> {
  const { driven } = core.journal;
  const live = core.live(sessionId);
  const kind = driven.get(sessionId)?.kind;
  if (kind) await core.restarting.get(kind)?.catch(() => {});
  core.closed.throwIfAborted();
  const session = driven.get(sessionId);
  if (!session || session.handle === null) throw new AgentNotReady("The session has no agent.");
  const driver = driverOf(core, session.kind);
  await checkProjectConfig(core, driver, session);
  const listening = openListening(core, sessionId, {
    isHeld: false,
    onStuck: (error) => standBack(core, sessionId, error),
  });
  const [first] = driven.prompts(sessionId);
  const kept = {
    ...settingsOf(session),
    handle: session.handle,
    // As it is now: it may have moved while the directory was looked at.
    cursor: driven.get(sessionId)!.cursor,
    turnId: first?.state === "sent" ? first.turnId : null,
    openRequests: driven.openRequests(sessionId).map(({ key }) => key),
  };
  const signal = AbortSignal.any([core.closed, AbortSignal.timeout(resumeMs)]);
  let agent: AgentSession;
  try {
    agent = await driver.resume(kept, listening.tell, signal);
  } catch (error) {
    listening.close();
    throw error;
  }
  if (listening.isOver()) {
    agent.release();
    throw new AgentNotReady("The agent was lost while the session was taken up again.");
  }
  live.agent = agent;
  live.listening = listening;
  core.journal.atOnce(() => setStatus(core, sessionId, "active", null));
  grant(core, sessionId);
  core.log.info("a session was taken up again", { sessionId });
  return agent;
}

export function settingsOf(session: SessionSettings): SessionSettings {
  const { sessionId, directory, title, model, options, policy } = session;
  return { sessionId, directory, title, model, options, policy };
}

/** Nobody hears the agent any more; it goes on, and is taken up again when it is needed. */
export function letGo(core: Core, sessionId: string): void {
  const live = core.live(sessionId);
  live.listening?.close();
  live.agent?.release();
  live.agent = undefined;
  live.listening = undefined;
}

/**
 * What an agent did could not be written, as on a full disk. It goes on unheard, and is taken up again
 * where the journal is, as often as it takes.
 */
export function standBack(core: Core, sessionId: string, error: unknown): void {
  core.log.warn("what an agent did could not be recorded", { sessionId, error: describe(error) });
  // Not within the driver's own call.
  queueMicrotask(() => letGo(core, sessionId));
  const timer = setTimeout(() => {
    const session = core.journal.driven.get(sessionId);
    if (core.closed.aborted || !session || !mayWork(session)) return;
    attach(core, sessionId).catch((failure: unknown) => {
      core.log.warn("a session was not taken up again", { sessionId, error: describe(failure) });
    });
  }, stuckMs);
  core.closed.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
