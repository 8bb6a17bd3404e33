// Beginning a session: its place is found or made, then the agent's own session. Nothing of it is told
// before all of it is there; what was begun and not finished is undone, also after a crash.
import type { AgentKind, AgentPolicy, Capability, ModelChoice } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import { findRoots, openBelowRoots } from "../directories/below-roots.ts";
import type { RepositorySource } from "../directories/bring-repository.ts";
import type { Directories } from "../directories/directories.ts";
import { AgentNotReady, type AgentSession, type Driver } from "../drivers/driver.ts";
import { GitError } from "../git/git.ts";
import {
  beginning,
  type DrivenSession,
  type OwnCheckout,
  type OwnWorktree,
} from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { within } from "../pause.ts";
import type { CheckoutPlan } from "../worktrees/checkouts.ts";
import type { Author, WorktreePlan } from "../worktrees/worktrees.ts";
import { journalFull } from "./admission.ts";
import { letGo, settingsOf, standBack } from "./attach.ts";
import { checkOptions, chooseModel } from "./choices.ts";
import { makeCheckout, noteCloned, noteNotCloned } from "./clone-starts.ts";
import { ProjectConfigPresent, driverOf, note, type Core } from "./core.ts";
import { capabilitiesIn, parkingOf, setAuthor } from "./file-work.ts";
import { openListening } from "./listening.ts";
import { asRefusal } from "./refusals.ts";

export interface WantedSession {
  sessionId: string;
  kind: AgentKind;
  /** Exactly one of these two. */
  directory?: string;
  clone?: RepositorySource;
  useWorktree?: boolean | undefined;
  title: string | null;
  providerId?: string | undefined;
  modelId?: string | undefined;
  options?: Record<string, string> | undefined;
  policy: AgentPolicy;
  /** In whose name its agent commits, in a worktree of its own; the host's user when there is none. */
  author?: Author | null | undefined;
}

export interface StartedSession {
  directory: string;
  worktreeBranch: string | null;
  model: ModelChoice | null;
  capabilities: Capability[];
}

/** Throws refusals. What it gives makes the session count when called, with the command's outcome. */
export async function startSession(
  core: Core,
  directories: Directories,
  wanted: WantedSession,
  signal: AbortSignal,
): Promise<() => StartedSession> {
  try {
    return await begin(core, directories, wanted, signal);
  } catch (error) {
    throw asRefusal(error instanceof GitError ? gitRefusal(error) : error);
  }
}

async function begin(
  core: Core,
  directories: Directories,
  wanted: WantedSession,
  signal: AbortSignal,
): Promise<() => StartedSession> {
  const { sessionId, kind, title } = wanted;
  const { driven } = core.journal;
  if (driven.get(sessionId) || driven.hasEnded(sessionId)) {
    throw new CommandRefusal("already_exists", "The host has had this session before.");
  }
  if (!core.journal.log.acceptsTurns()) throw journalFull();
  const cloning = wanted.clone && core.checkouts.plan(sessionId, wanted.clone);
  const place = cloning ? ownPlace(cloning) : await findPlace(core, directories, wanted);
  const driver = driverOf(core, kind);
  // Before anything looks into the directory that might run what is there.
  if (!place.useWorktree && !cloning) await refuseProjectConfig(driver, place.realPath);
  const state = await driver.readState(signal);
  const [problem] = state.problems;
  if (problem) throw new AgentNotReady(problem.message);
  const model = await chooseModel(driver, wanted, signal);
  checkOptions(state.options, wanted.options ?? {});

  const plan = place.useWorktree
    ? core.worktrees.plan({ sessionId, repository: place.realPath, title })
    : undefined;
  const session: DrivenSession = {
    sessionId,
    kind,
    directory: plan?.directory ?? place.realPath,
    worktree: plan ? planned(plan) : null,
    startedIn: place.path,
    baseCommit: plan || cloning ? null : await core.worktrees.headOf(place.realPath, signal),
    ...(cloning && { checkout: ownCheckout(cloning) }),
    ...(place.isGitRepository && {
      origin: await core.pushes.readOrigin(place.realPath, signal),
    }),
    title,
    isTitledByCaller: title !== null,
    model,
    options: wanted.options ?? {},
    policy: wanted.policy,
    ...beginning,
  };
  // So that whatever is made from here on is found and undone if the daemon dies.
  driven.add(session);
  try {
    const leftOut = cloning
      ? await makeCheckout(core, driver, cloning, wanted.author, signal)
      : plan
        ? await makeWorktree(core, driver, plan, wanted.author, signal)
        : [];
    checkStarting(core, sessionId);
    if (cloning) await refuseProjectConfig(driver, cloning.directory);
    const ignored = [...leftOut, ...((await driver.findIgnoredConfig?.(session.directory)) ?? [])];
    const agent = await startAgent(core, driver, session, signal);
    checkStarting(core, sessionId);
    return () => {
      const started = conclude(core, driver, session, agent, ignored);
      if (cloning) noteCloned(core, sessionId, started);
      return started;
    };
  } catch (error) {
    await undoStart(core, session, error);
    throw error;
  }
}

/** In the commit that keeps the command's outcome: from here on the session counts. */
export function conclude(
  core: Core,
  driver: Driver,
  { sessionId }: DrivenSession,
  agent: AgentSession,
  leftOut: string[],
): StartedSession {
  checkStarting(core, sessionId);
  const { driven, log } = core.journal;
  driven.change(sessionId, { state: "active", handle: agent.handle });
  log.introduce(sessionId);
  note(core, sessionId, { sessionUpdate: "session_status", status: "active", reason: null });
  if (leftOut.length > 0) {
    note(core, sessionId, { sessionUpdate: "config_ignored", paths: leftOut });
  }
  // What the agent said before it was written down.
  setImmediate(() => core.live(sessionId).listening?.begin());
  const session = driven.get(sessionId)!;
  return {
    directory: session.startedIn ?? session.directory,
    worktreeBranch: session.worktree?.branch ?? null,
    model: session.model,
    capabilities: capabilitiesIn(driver, session),
  };
}

/** Somebody may have ended it meanwhile. */
export function checkStarting(core: Core, sessionId: string): void {
  if (core.journal.driven.get(sessionId)?.state === "starting") return;
  throw new CommandRefusal("session_ended", "The session was ended while it began.");
}

async function findPlace(core: Core, directories: Directories, wanted: WantedSession) {
  const roots = await findRoots(core.policy().roots);
  const { directory = "" } = wanted;
  using place = await openBelowRoots(roots, directory);
  const facts = place && (await directories.describe(directory));
  if (!place || !facts) {
    throw new CommandRefusal("not_found", "There is no such directory below the host's roots.");
  }
  const useWorktree = wanted.useWorktree ?? facts.isGitRepository;
  if (useWorktree && !facts.isGitRepository) {
    const message = "The directory is not the top of a git repository, so it can have no worktree.";
    throw new CommandRefusal("not_a_repository", message);
  }
  const { isGitRepository } = facts;
  return { path: place.path, realPath: place.handle.realPath, useWorktree, isGitRepository };
}

/** Nothing is there yet, and it is nobody else's. */
const ownPlace = ({ directory }: CheckoutPlan) => ({
  path: directory,
  realPath: directory,
  useWorktree: false,
  isGitRepository: false,
});

const ownCheckout = ({ directory, source: { repo, url } }: CheckoutPlan): OwnCheckout => ({
  directory,
  repo: repo ?? null,
  url: url ?? null,
  viaClient: repo !== undefined,
});

async function refuseProjectConfig(driver: Driver, directory: string): Promise<void> {
  const paths = await driver.findProjectConfig(directory);
  if (paths.length > 0) throw new ProjectConfigPresent(paths);
}

async function makeWorktree(
  core: Core,
  driver: Driver,
  plan: WorktreePlan,
  author: Author | null | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  const made = await core.worktrees.make(plan, driver.sparsePatterns, signal);
  checkStarting(core, plan.sessionId);
  const { baseCommit, adminDirectory, leftOut } = made;
  const worktree: OwnWorktree = { ...planned(plan), baseCommit, adminDirectory };
  core.journal.driven.change(plan.sessionId, { worktree });
  await setAuthor(core, plan, author, signal);
  await refuseProjectConfig(driver, plan.directory);
  return leftOut;
}

const planned = ({ repository, branch }: WorktreePlan): OwnWorktree => ({
  repository,
  branch,
  adminDirectory: null,
  baseCommit: null,
});

export async function startAgent(
  core: Core,
  driver: Driver,
  session: DrivenSession,
  signal: AbortSignal,
): Promise<AgentSession> {
  const { sessionId } = session;
  const listening = openListening(core, sessionId, {
    isHeld: true,
    onStuck: (error) => standBack(core, sessionId, error),
  });
  await core.restarting.get(session.kind)?.catch(() => {});
  const agent = await driver.start(settingsOf(session), listening.tell, signal);
  const live = core.live(sessionId);
  live.agent = agent;
  live.listening = listening;
  return agent;
}

const undoMs = 5_000;

/** Also for one that a crash cut. Nobody has heard of it, so nothing of it is kept. */
export async function undoStart(core: Core, session: DrivenSession, why?: unknown): Promise<void> {
  const { sessionId, worktree, directory, checkout, restoredFrom } = session;
  const { agent } = core.live(sessionId);
  try {
    if (agent) await within(undoMs, agent.end(AbortSignal.timeout(undoMs)));
  } catch (error) {
    core.log.warn("an agent's session was not ended", { sessionId, error: describe(error) });
  }
  letGo(core, sessionId);
  core.forget(sessionId);
  try {
    if (restoredFrom) await putBackAside(core, session, restoredFrom);
    else if (checkout) core.checkouts.discard(sessionId);
    else if (worktree) await core.worktrees.discard({ ...worktree, sessionId, directory });
    // Unless somebody ended it meanwhile, who then has the last word.
    if (core.journal.driven.get(sessionId)?.state === "starting") {
      core.journal.driven.remove(sessionId);
    }
    noteNotCloned(core, session, why);
  } catch (error) {
    // Left as it is, and tried again at the next start of the daemon.
    core.log.warn("a start could not be undone", { sessionId, error: describe(error) });
  }
}

async function putBackAside(core: Core, session: DrivenSession, parkedId: string): Promise<void> {
  if (await core.worktrees.unrestore(parkedId)) return;
  // An ended session's work, of which nobody else knows any more.
  await core.worktrees.park(session.sessionId, session.worktree, parkingOf(core, session));
}

function gitRefusal(error: GitError): unknown {
  return error.reason === "unsafe_repository"
    ? new CommandRefusal("unsafe_repository", error.message)
    : new CommandRefusal("worktree_failed", error.message);
}
