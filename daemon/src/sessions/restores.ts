// Making a session of a worktree or a clone that was put aside: files, branches and everything git knew
// are where they were, and the agent begins a new conversation there. What goes wrong puts it aside again.
import type { AgentKind, AgentPolicy } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import { AgentNotReady } from "../drivers/driver.ts";
import { GitError } from "../git/git.ts";
import { beginning, type DrivenSession } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { CannotRestore } from "../worktrees/parked.ts";
import type { ParkedRecord, ParkedSession } from "../worktrees/parked-record.ts";
import type { Author } from "../worktrees/worktrees.ts";
import { chooseModel } from "./choices.ts";
import { ProjectConfigPresent, driverOf, type Core } from "./core.ts";
import { objectToGit, setAuthor } from "./file-work.ts";
import { asRefusal } from "./refusals.ts";
import { checkStarting, conclude, startAgent, undoStart, type StartedSession } from "./starts.ts";
import { journalFull } from "./admission.ts";

export interface WantedRestore {
  /** The new session. */
  sessionId: string;
  /** Whose worktree or clone was put aside. */
  parkedId: string;
  policy: AgentPolicy;
  author: Author | null;
}

export interface RestoredSession extends StartedSession {
  kind: AgentKind;
  title: string | null;
}

/** Throws refusals. What it gives makes the session count when called, with the command's outcome. */
export async function restoreSession(
  core: Core,
  wanted: WantedRestore,
  signal: AbortSignal,
): Promise<() => RestoredSession> {
  try {
    return await begin(core, wanted, signal);
  } catch (error) {
    if (error instanceof CannotRestore) throw refusalOf(error);
    if (error instanceof GitError) throw new CommandRefusal("restore_failed", error.message);
    throw asRefusal(error);
  }
}

async function begin(
  core: Core,
  { sessionId, parkedId, policy, author }: WantedRestore,
  signal: AbortSignal,
): Promise<() => RestoredSession> {
  const { driven } = core.journal;
  if (driven.get(sessionId) || driven.hasEnded(sessionId)) {
    throw new CommandRefusal("already_exists", "The host has had this session before.");
  }
  if (!core.journal.log.acceptsTurns()) throw journalFull();
  const found = core.worktrees.parked.find(parkedId);
  const about = found?.session;
  const place = found && about && placeIn(found, about);
  if (!place) {
    throw new CannotRestore("gone", "The host keeps no worktree or clone of this session.");
  }
  const { kind, title, origin, pushBranch } = about;
  const driver = driverOf(core, kind);
  const [problem] = (await driver.readState(signal)).problems;
  if (problem) throw new AgentNotReady(problem.message);
  const { directory } = place;
  const session: DrivenSession = {
    sessionId,
    kind,
    ...place,
    startedIn: about.startedIn,
    restoredFrom: parkedId,
    ...(origin !== undefined && { origin }),
    ...(pushBranch !== undefined && { pushBranch }),
    title,
    isTitledByCaller: title !== null,
    model: await modelOf(core, about, signal),
    options: about.options,
    policy,
    ...beginning,
  };
  driven.add(session);
  try {
    await core.worktrees.parked.restore(parkedId);
  } catch (error) {
    if (error instanceof CannotRestore) driven.remove(sessionId);
    else await undoStart(core, session);
    throw error;
  }
  try {
    const paths = await driver.findProjectConfig(directory);
    if (paths.length > 0) throw new ProjectConfigPresent(paths);
    const objection = objectToGit(session);
    if (objection !== undefined) throw new GitError("unsafe_repository", objection);
    await setAuthor(core, session, author, signal);
    const agent = await startAgent(core, driver, session, signal);
    checkStarting(core, sessionId);
    return () => {
      const started = conclude(core, driver, session, agent, []);
      setImmediate(() => settleRestored(core, session));
      return { ...started, directory: about.startedIn, kind, title };
    };
  } catch (error) {
    await undoStart(core, session);
    throw error;
  }
}

/** What it had, if that is still offered. */
async function modelOf(core: Core, { kind, model }: ParkedSession, signal: AbortSignal) {
  const driver = driverOf(core, kind);
  try {
    return await chooseModel(driver, model ?? {}, signal);
  } catch (error) {
    if (!(error instanceof CommandRefusal)) throw error;
    return chooseModel(driver, {}, signal);
  }
}

/** Where the session works when it is back; nothing when too little was written down. */
function placeIn(
  { repository, branch, adminDirectory, worktree: directory }: ParkedRecord,
  { checkout, baseCommit }: ParkedSession,
): Pick<DrivenSession, "directory" | "worktree" | "checkout" | "baseCommit"> | undefined {
  if (checkout) return { directory: checkout.directory, worktree: null, checkout, baseCommit };
  if (repository === null || branch === null) return undefined;
  return { directory, worktree: { repository, branch, adminDirectory, baseCommit } };
}

/** Takes away what is left where it was put aside. Also after a crash that came before this. */
export function settleRestored(core: Core, { sessionId, restoredFrom }: DrivenSession): void {
  if (core.closed.aborted) return;
  // That it counts may not have got to disk, and then this is the way back.
  if (core.journal.driven.get(sessionId)?.state === "starting") return;
  const record = restoredFrom ? core.worktrees.parked.find(restoredFrom) : undefined;
  if (!restoredFrom || !record) return;
  core.worktrees.parked.settle(restoredFrom, record, sessionId).catch((error: unknown) => {
    core.log.warn("what is left of a parked session was not removed", {
      sessionId: restoredFrom,
      error: describe(error),
    });
  });
}

function refusalOf({ reason, message }: CannotRestore): CommandRefusal {
  if (reason === "gone") return new CommandRefusal("not_found", message);
  if (reason === "taken") return new CommandRefusal("already_exists", message);
  return new CommandRefusal("repository_gone", message);
}
