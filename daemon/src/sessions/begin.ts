// The one way to begin a session. A plan says what the session is and how its directory is made; starts,
// clone starts, restores and forks are plans. Nothing is reported before everything is there, and what was not
// finished is undone, also after a crash.
import type {
  AgentKind,
  AgentPolicy,
  AgentProblem,
  Capability,
  Fallback,
  ModelChoice,
  SessionMode,
  TrustedPart,
  TrustedRepository,
} from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import {
  AgentNotReady,
  type AgentState,
  type Driver,
  type SessionSettings,
} from "../drivers/driver.ts";
import { beginning, type DrivenSession, type TrustedConfig } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { within } from "../pause.ts";
import { CannotRestore } from "../worktrees/parked.ts";
import { release, startAgent } from "./attach.ts";
import { settingsOf } from "./calls.ts";
import { capabilitiesIn, parkingOf } from "./files.ts";
import { modeOf, narrowMode } from "./modes.ts";
import { refuseProjectConfig } from "./project-config.ts";
import { accountGone, chooseAccount, userIn, type Session } from "./session.ts";
import { checkStarting, stoppable } from "./start-work.ts";
import { copyTrusted } from "./trust.ts";

/** Where a session works, as the journal keeps it. */
export type Place = Pick<
  DrivenSession,
  | "directory"
  | "worktree"
  | "checkout"
  | "startedIn"
  | "baseCommit"
  | "origin"
  | "pushBranch"
  | "restoredFrom"
  | "fork"
>;

export interface Plan {
  kind: AgentKind;
  title: string | null;
  policy: AgentPolicy;
  mode: SessionMode;
  /** Repositories that the organization trusts. */
  trusted: readonly TrustedRepository[];
  /** Who starts it: the account of this person is used, if there is one. */
  ownerId: string | undefined;
  /** Set if the preferred kind was skipped. */
  fallback?: Fallback | undefined;
  /** The user's own directory, if the session works there: it is checked before the agent reads it. */
  usersDirectory?: string;
  /** Throws refusals for what the agent does not offer. */
  choose(
    driver: Driver,
    state: AgentState,
    signal: AbortSignal,
  ): Promise<Pick<DrivenSession, "model" | "options">>;
  /** Names the directory before anything is made. */
  locate(signal: AbortSignal): Promise<Place>;
  /** Makes the directory ready for the agent. Returns configuration files that the agent will not read. */
  make(session: Session, driver: Driver, signal: AbortSignal): Promise<string[]>;
  /** Called when the directory is ready, before the session's agent starts. */
  prepareAgent?(
    session: Session,
    driver: Driver,
    settings: SessionSettings,
    signal: AbortSignal,
  ): Promise<void>;
  /** In the commit that makes the session active. */
  onBegun?(session: Session, started: StartedSession): void;
}

export interface StartedSession {
  directory: string;
  worktreeBranch: string | null;
  model: ModelChoice | null;
  mode: SessionMode;
  capabilities: Capability[];
  trustedParts: TrustedPart[];
  /** Whose account it uses; null for the login of the host's user. */
  ownerId: string | null;
  /** The kind that runs it, if the wanted one was skipped. */
  taken?: { kind: AgentKind; fallback: Fallback };
}

/**
 * Throws refusals. The returned function makes the session active, in the commit of the outcome. The caller of a
 * long start, a clone or a fork, may have stopped waiting, so the log says why it failed.
 */
export async function begin(
  session: Session,
  makePlan: () => Plan | Promise<Plan>,
  signal: AbortSignal,
  isLong = false,
): Promise<() => StartedSession> {
  try {
    return await make(session, makePlan, signal);
  } catch (error) {
    if (isLong || signal.aborted) noteFailedStart(session, error);
    throw error;
  }
}

async function make(
  session: Session,
  makePlan: () => Plan | Promise<Plan>,
  signal: AbortSignal,
): Promise<() => StartedSession> {
  if (session.record || session.host.journal.driven.hasEnded(session.id)) {
    throw new CommandRefusal("already_exists", "The host already had a session with this id.");
  }
  session.requireRoom();
  const plan = await makePlan();
  const { kind, title, policy, mode, usersDirectory } = plan;
  const { driver, ownerId } = chooseAccount(session.host, kind, plan.ownerId);
  if (usersDirectory !== undefined) await refuseProjectConfig(session.host, driver, usersDirectory);
  const state = await driver.readState(signal);
  const [problem] = state.problems;
  if (problem)
    throw new AgentNotReady(ownerId === undefined ? problem.message : advise(kind, problem));
  const choice = await plan.choose(driver, state, signal);
  const isTitledByCaller = title !== null;
  const place = await plan.locate(signal);
  // Kept here, because the session may be ended, and its record removed, while it starts.
  const record: DrivenSession = {
    sessionId: session.id,
    kind,
    ...place,
    title,
    isTitledByCaller,
    ...choice,
    policy,
    mode,
    ...beginning,
    ...(ownerId !== undefined && { ownerId }),
  };
  session.add(record);
  try {
    const ignored = await stoppable(session, signal, (until) => plan.make(session, driver, until));
    const trusted = await copyTrusted(session, driver, plan.trusted, signal);
    checkStarting(session);
    if (trusted) session.change({ trusted });
    const settings = settingsOf(session, { ...record, ...(trusted && { trusted }) });
    await stoppable(session, signal, async (until) =>
      plan.prepareAgent?.(session, driver, settings, until),
    );
    checkStarting(session);
    // The account may have been unlinked meanwhile.
    if (session.knownDriver !== driver) throw new AgentNotReady(accountGone);
    const agent = await startAgent(session, driver, settings, signal);
    checkStarting(session);
    return () => {
      const started = activate(session, driver, agent.handle, ignored, plan.fallback);
      plan.onBegun?.(session, started);
      return started;
    };
  } catch (error) {
    if (error instanceof CannotRestore) dropRecord(session);
    else await undoStart(session, record, error);
    throw error;
  }
}

/** The driver's advice is for the host's user. Somebody's own account is renewed by them. */
const advise = (kind: AgentKind, { code, message }: AgentProblem) =>
  code === "not_logged_in"
    ? `Your login to ${kind} on this host has ended. Call start_agent_login to renew it, or link_agent_identity.`
    : message;

/** Within the commit of the command's outcome: from here on the session is active and visible. */
function activate(
  session: Session,
  driver: Driver,
  handle: string,
  ignored: string[],
  fallback: Fallback | undefined,
): StartedSession {
  checkStarting(session);
  session.change({ state: "active", handle });
  session.host.journal.log.introduce(session.id);
  session.note({ sessionUpdate: "session_status", status: "active", reason: null });
  narrowMode(session, undefined);
  const { kind } = driver;
  if (fallback) session.note({ sessionUpdate: "fallback_taken", kind, ...fallback });
  const { ownerId } = session.record!;
  if (ownerId !== undefined)
    session.note({ sessionUpdate: "account_used", userId: userIn(ownerId) });
  if (ignored.length > 0) session.note({ sessionUpdate: "config_ignored", paths: ignored });
  const { trusted } = session.record!;
  if (trusted) noteTrusted(session, trusted);
  session.afterwards(() => {
    if (session.serving.by === "attached") session.serving.listener.begin();
  });
  const record = session.record!;
  return {
    directory: record.startedIn ?? record.directory,
    worktreeBranch: record.worktree?.branch ?? null,
    model: record.model,
    capabilities: capabilitiesIn(driver, record),
    mode: modeOf(session),
    trustedParts: [...(record.trusted?.parts ?? [])],
    ownerId: record.ownerId ?? null,
    ...(fallback && { taken: { kind, fallback } }),
  };
}

/** Writes no entry if the repository has none of these files. */
function noteTrusted(session: Session, { origin, parts, paths, reason }: TrustedConfig): void {
  if (parts.length === 0 && reason === null) return;
  session.note({
    sessionUpdate: "config_trusted",
    origin,
    parts: [...parts],
    paths: [...paths],
    reason,
  });
}

const undoMs = 5_000;

/**
 * Undoes a start, also one that a crash cut or that the end of the session overtook. Nobody knows of the
 * session, so nothing of it is kept. `record` is what the start recorded.
 */
export async function undoStart(
  session: Session,
  record: DrivenSession,
  cause?: unknown,
): Promise<void> {
  const { checkouts, worktrees } = session.host;
  try {
    const { agent } = session;
    if (agent) await within(undoMs, agent.end(AbortSignal.timeout(undoMs)));
  } catch (error) {
    session.warn("an agent's session was not ended", error);
  }
  release(session);
  const { worktree, checkout, restoredFrom, directory } = record;
  try {
    if (restoredFrom) await parkAgain(session, record, restoredFrom);
    else if (checkout) checkouts.discard(session.id);
    else if (worktree) await worktrees.discard({ ...worktree, sessionId: session.id, directory });
    // If the session is being ended, its end has the last word.
    if (session.state === "starting") dropRecord(session);
    // After a crash, the log is the only place where the caller can read why the start failed.
    if ((checkout && !restoredFrom) || record.fork) noteFailedStart(session, cause);
  } catch (error) {
    // The next start of the daemon tries again.
    session.warn("a start could not be undone", error);
  }
}

function dropRecord(session: Session): void {
  session.host.journal.driven.remove(session.id);
  session.forget();
}

async function parkAgain(session: Session, record: DrivenSession, parkedId: string): Promise<void> {
  const { worktrees, now } = session.host;
  if (await worktrees.unrestore(parkedId)) return;
  // The work of an ended session, whose other record is gone.
  await worktrees.park(session.id, record.worktree, parkingOf(record, now()));
}

/** No-op if the session exists, or has ended. */
function noteFailedStart(session: Session, cause: unknown): void {
  const { driven, log } = session.host.journal;
  if (session.record || driven.hasEnded(session.id)) return;
  session.commit(() => {
    log.introduce(session.id);
    const reason = describe(cause);
    const code = "start_failed";
    session.note({ sessionUpdate: "session_status", status: "ended", reason, code });
    driven.markEnded(session.id);
  });
}
