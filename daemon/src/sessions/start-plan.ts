// Starting a session in a directory below the host's roots: in a worktree of its own if the directory is
// a repository, else in the directory itself.
import type { AgentPolicy, SessionMode, TrustedRepository } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import { findRoots, openBelowRoots } from "../directories/below-roots.ts";
import type { RepositorySource } from "../directories/bring-repository.ts";
import type { Directories } from "../directories/directories.ts";
import type { AgentState, Driver } from "../drivers/driver.ts";
import { checkOptions, chooseModel } from "../drivers/offer.ts";
import { GitError } from "../git/git.ts";
import type { OwnWorktree } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { requireReadable } from "../policy/forbidden.ts";
import { isBelow } from "../policy/path-location.ts";
import { protectedPaths } from "../policy/protected-paths.ts";
import type { TreeState } from "../worktrees/fork-tree.ts";
import type { Author, WorktreePlan } from "../worktrees/worktrees.ts";
import { begin, type Plan, type StartedSession } from "./begin.ts";
import { planClone } from "./clone-plan.ts";
import { applyFallback, type WantedKind } from "./fallback.ts";
import { setAuthor } from "./files.ts";
import { refuseProjectConfig } from "./project-config.ts";
import { asRefusal } from "./refusals.ts";
import type { HostParts, Session } from "./session.ts";
import { checkStarting } from "./start-work.ts";

export interface WantedSession extends WantedKind {
  sessionId: string;
  /** Exactly one of directory and clone. */
  directory?: string;
  clone?: RepositorySource;
  useWorktree?: boolean | undefined;
  title: string | null;
  policy: AgentPolicy;
  mode?: SessionMode | undefined;
  trusted?: readonly TrustedRepository[] | undefined;
  /** Author of the agent's commits in a tree of the session's own; the host's user if undefined. */
  author?: Author | null | undefined;
  /** Who starts it, if a person does. */
  ownerId?: string | null | undefined;
}

/** Throws refusals. The returned function makes the session active, in the commit of the outcome. */
export async function startSession(
  session: Session,
  directories: Directories,
  wanted: WantedSession,
  signal: AbortSignal,
): Promise<() => StartedSession> {
  try {
    const isLong = wanted.clone !== undefined;
    const makePlan = async () => {
      const taken = await applyFallback(session.host, wanted, signal);
      const plan = await planStart(session.host, directories, taken.wanted);
      return { ...plan, fallback: taken.fallback };
    };
    return await begin(session, makePlan, signal, isLong);
  } catch (error) {
    throw asRefusal(error instanceof GitError ? gitRefusal(error) : error);
  }
}

export async function planStart(
  host: HostParts,
  directories: Directories,
  wanted: WantedSession,
): Promise<Plan> {
  const { sessionId, kind, title, policy, mode = "ask", trusted = [], author, clone } = wanted;
  const choose = (driver: Driver, state: AgentState, signal: AbortSignal) =>
    chooseWanted(driver, state, wanted, signal);
  const ownerId = wanted.ownerId ?? undefined;
  const common = { kind, title, policy, mode, trusted, choose, ownerId };
  if (clone) return { ...common, ...planClone(host.checkouts.plan(sessionId, clone), author) };
  const found = await findDirectory(host, directories, wanted);
  const { path, realPath, isGitRepository } = found;
  if (isGitRepository && !found.useWorktree && host.clonesRepositories) {
    const message =
      "On this host the agents of each person run as a Unix user of their own, so their sessions work in clones of repositories. Leave useWorktree out.";
    throw new CommandRefusal("unsafe_repository", message);
  }
  if (found.useWorktree && host.clonesRepositories) {
    const plan = host.checkouts.planFrom(sessionId, realPath);
    const readOrigin = (signal: AbortSignal) => host.pushes.readOriginOfOther(realPath, signal);
    return { ...common, ...planClone(plan, author, readOrigin) };
  }
  const worktree = found.useWorktree
    ? host.worktrees.plan({ sessionId, repository: realPath, title })
    : undefined;
  return {
    ...common,
    ...(!worktree && { usersDirectory: realPath }),
    locate: async (signal) => ({
      directory: worktree?.directory ?? realPath,
      worktree: worktree ? planned(worktree) : null,
      startedIn: path,
      baseCommit:
        worktree || !isGitRepository ? null : await host.worktrees.headOf(realPath, signal),
      ...(isGitRepository && { origin: await host.pushes.readOrigin(realPath, signal) }),
    }),
    async make(session, driver, signal) {
      const leftOut = worktree ? await makeWorktree(session, driver, worktree, author, signal) : [];
      if (session.record?.baseCommit === null && !worktree) {
        await makeBaseline(session, realPath, signal);
      }
      checkStarting(session);
      const ignored = await driver.findIgnoredConfig?.(worktree?.directory ?? realPath);
      return [...leftOut, ...(ignored ?? [])];
    },
  };
}

async function chooseWanted(
  driver: Driver,
  state: AgentState,
  wanted: WantedSession,
  signal: AbortSignal,
) {
  const { options = {} } = wanted;
  const model = await chooseModel(driver, wanted, signal);
  checkOptions(state.options, options);
  return { model, options };
}

async function findDirectory(host: HostParts, directories: Directories, wanted: WantedSession) {
  const roots = await findRoots(requireReadable(host.policy()).roots);
  const { directory = "" } = wanted;
  using place = await openBelowRoots(roots, directory);
  const facts = place && (await directories.describe(directory));
  const { secrets } = protectedPaths(host.stateDirectory);
  // An agent may do what it likes in its own directory.
  const isClosed = secrets.some((path) => place && isBelow(path, place.handle.realPath));
  if (!place || !facts || isClosed) {
    throw new CommandRefusal(
      "not_found",
      "There is no such directory below the host's roots. list_directories shows the roots.",
    );
  }
  const { isGitRepository } = facts;
  const useWorktree = wanted.useWorktree ?? isGitRepository;
  if (useWorktree && !isGitRepository) {
    const message = "The directory is not the top of a git repository, so it can have no worktree.";
    throw new CommandRefusal("not_a_repository", message);
  }
  return { path: place.path, realPath: place.handle.realPath, useWorktree, isGitRepository };
}

/** Returns the files that were not checked out. `fork`: what it contains instead of the repository's HEAD. */
export async function makeWorktree(
  session: Session,
  driver: Driver,
  plan: WorktreePlan,
  author: Author | null | undefined,
  signal: AbortSignal,
  fork?: { state: TreeState; baseCommit: string | null },
): Promise<string[]> {
  const { worktrees } = session.host;
  const made = await worktrees.make(plan, driver.sparsePatterns, signal, fork?.state);
  checkStarting(session);
  const { adminDirectory, leftOut, baseBranch } = made;
  const baseCommit = fork?.baseCommit ?? made.baseCommit;
  session.change({ worktree: { ...planned(plan), baseCommit, baseBranch, adminDirectory } });
  await setAuthor(session, plan.directory, author, signal);
  await refuseProjectConfig(session.host, driver, plan.directory);
  return leftOut;
}

/** A session in a directory that is too large for a baseline starts too, without the capability `diff`. */
async function makeBaseline(
  session: Session,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { baselines } = session.host.worktrees;
    const baselineTree = await baselines.make(session.id, directory, signal);
    checkStarting(session);
    session.change({ baselineTree });
  } catch (error) {
    if (signal.aborted) throw error;
    checkStarting(session);
    session.warn("no baseline was made, so the session has no diff", error);
    session.change({ baselineProblem: describe(error) });
  }
}

export const planned = ({ repository, branch }: WorktreePlan): OwnWorktree => ({
  repository,
  branch,
  adminDirectory: null,
  baseCommit: null,
});

export function gitRefusal({ reason, message }: GitError): CommandRefusal {
  const code = reason === "unsafe_repository" ? "unsafe_repository" : "worktree_failed";
  return new CommandRefusal(code, message);
}
