// The agent behind a session: the one that serves it now, or one that resumes it.
import {
  AgentNotReady,
  type AgentSession,
  type Driver,
  type SessionSettings,
} from "../drivers/driver.ts";
import { describe } from "../log.ts";
import { createListener } from "./agent-events.ts";
import { checkProjectConfig } from "./project-config.ts";
import { answerByRule } from "./requests.ts";
import { settingsOf } from "./calls.ts";
import type { Session } from "./session.ts";

const resumeMs = 20_000;
const retryMs = 5_000;

/**
 * Throws AgentNotReady, SessionGone or ProjectConfigPresent. Then the agent counts as lost: its turn is
 * ended and the status set, at once or as soon as the journal can be written.
 */
export function attach(session: Session): Promise<AgentSession> {
  const { serving } = session;
  if (serving.by !== "none") return Promise.resolve(serving.agent);
  const link = listen(session, { isHeld: false });
  const agent = resume(session, link).catch((error: unknown) => {
    if (session.serving.by === "attaching") session.serving = { by: "none" };
    link.sink({ type: "lost", reason: describe(error) });
    throw error;
  });
  session.serving = { by: "attaching", agent };
  return agent;
}

function listen(session: Session, { isHeld }: { isHeld: boolean }) {
  return createListener(session, { isHeld, onStuck: (error) => retryLater(session, error) });
}

async function resume(
  session: Session,
  { listener, sink }: ReturnType<typeof listen>,
): Promise<AgentSession> {
  const { restarting, closed, log, journal } = session.host;
  const known = session.knownDriver;
  if (known) await restarting.get(known)?.catch(() => {});
  closed.throwIfAborted();
  const handle = session.record?.handle ?? null;
  if (handle === null) throw new AgentNotReady("The session has no agent.");
  const { driver } = session;
  await checkProjectConfig(session);
  // Read only now: the cursor may have moved while the directory was checked.
  const running = session.runningTurn;
  const kept = {
    ...settingsOf(session, session.record!),
    handle,
    cursor: session.record!.cursor,
    turnId: running?.turnId ?? null,
    messageId: running && running.task?.type !== "summarize" ? running.messageId : null,
    openRequests: journal.driven.openRequests(session.id).map(({ key }) => key),
  };
  const signal = AbortSignal.any([closed, AbortSignal.timeout(resumeMs)]);
  const agent = await driver.resume(kept, sink, signal);
  if (listener.isClosed()) {
    agent.release();
    throw new AgentNotReady("The agent was lost while the session was resumed.");
  }
  session.serving = { by: "attached", agent, listener };
  session.commit(() => session.setStatus("active"));
  answerByRule(session);
  log.info("a session was resumed", { sessionId: session.id });
  return agent;
}

/** Starts the agent of a new session. Its events are held back until the session is active. */
export async function startAgent(
  session: Session,
  driver: Driver,
  settings: SessionSettings,
  signal: AbortSignal,
): Promise<AgentSession> {
  const { listener, sink } = listen(session, { isHeld: true });
  await session.host.restarting.get(driver)?.catch(() => {});
  const agent = await driver.start(settings, sink, signal);
  session.serving = { by: "attached", agent, listener };
  return agent;
}

/** Stops listening to the agent. The agent goes on, and is resumed when it is needed. */
export function release(session: Session): void {
  const { serving } = session;
  if (serving.by !== "attached") return;
  session.serving = { by: "none" };
  serving.listener.close();
  serving.agent.release();
}

/**
 * An event of the agent could not be recorded, for example on a full disk. The agent goes on without a
 * listener and is resumed from the journal's cursor, as often as it takes.
 */
function retryLater(session: Session, error: unknown): void {
  const { closed } = session.host;
  session.warn("what an agent did could not be recorded", error);
  // Deferred, because the driver is still reporting the event.
  queueMicrotask(() => release(session));
  const timer = setTimeout(() => {
    if (closed.aborted || !session.isUsable) return;
    attach(session).catch((failure: unknown) => session.warn("a session was not resumed", failure));
  }, retryMs);
  closed.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
