// Making a session of a parked worktree or clone: files, branches and everything git knew are where they
// were, and the agent begins a new conversation there. If something goes wrong, the tree is parked again.
import type { AgentKind, AgentPolicy, SessionMode, TrustedRepository } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import { NotOffered, type Driver } from "../drivers/driver.ts";
import { chooseModel } from "../drivers/offer.ts";
import { GitError } from "../git/git.ts";
import { CannotRestore } from "../worktrees/parked.ts";
import type { ParkedRecord, ParkedSession } from "../worktrees/parked-record.ts";
import type { Author } from "../worktrees/worktrees.ts";
import { begin, type Place, type Plan, type StartedSession } from "./begin.ts";
import { objectToGit, setAuthor } from "./files.ts";
import { refuseProjectConfig } from "./project-config.ts";
import { asRefusal } from "./refusals.ts";
import type { HostParts, Session } from "./session.ts";

export interface WantedRestore {
  /** The new session. */
  sessionId: string;
  /** The session whose tree was parked. */
  parkedId: string;
  policy: AgentPolicy;
  mode?: SessionMode | undefined;
  trusted?: readonly TrustedRepository[] | undefined;
  author: Author | null;
  ownerId?: string | null | undefined;
}

export interface RestoredSession extends StartedSession {
  kind: AgentKind;
  title: string | null;
}

/** Throws refusals. The returned function makes the session active, in the commit of the outcome. */
export async function restoreSession(
  session: Session,
  wanted: WantedRestore,
  signal: AbortSignal,
): Promise<() => RestoredSession> {
  try {
    const started = await begin(session, () => planRestore(session.host, wanted), signal);
    const { kind, title } = session.record!;
    return () => ({ ...started(), kind, title });
  } catch (error) {
    if (error instanceof CannotRestore) throw refusalOf(error);
    if (error instanceof GitError) throw new CommandRefusal("restore_failed", error.message);
    throw asRefusal(error);
  }
}

function planRestore(
  host: HostParts,
  { parkedId, policy, mode = "ask", trusted = [], author, ownerId }: WantedRestore,
): Plan {
  const { parked } = host.worktrees;
  const found = parked.find(parkedId);
  const about = found?.session;
  const place = found && about && placeIn(found, about);
  if (!place) {
    throw new CannotRestore("gone", "The host keeps no worktree or clone of this session.");
  }
  const { kind, title, options, startedIn, origin, pushBranch } = about;
  return {
    kind,
    title,
    policy,
    mode,
    trusted,
    ownerId: ownerId ?? undefined,
    choose: async (driver, _, signal) => ({
      model: await chooseFormerModel(driver, about, signal),
      options,
    }),
    locate: async () => ({
      ...place,
      startedIn,
      restoredFrom: parkedId,
      ...(origin !== undefined && { origin }),
      ...(pushBranch !== undefined && { pushBranch }),
    }),
    async make(session, driver, signal) {
      await parked.restore(parkedId);
      await refuseProjectConfig(session.host, driver, place.directory);
      const objection = objectToGit(place);
      if (objection !== undefined) throw new GitError("unsafe_repository", objection);
      await setAuthor(session, place.directory, author, signal);
      return [];
    },
    // Later than the reply, which must not wait for the file system.
    onBegun: (session) =>
      session.afterwards(() => setImmediate(() => removeParkedLeftovers(session))),
  };
}

/** The model that the session had, or the agent's own if that is no longer offered. */
export async function chooseFormerModel(
  driver: Driver,
  { model }: Pick<ParkedSession, "model">,
  signal: AbortSignal,
) {
  try {
    return await chooseModel(driver, model ?? {}, signal);
  } catch (error) {
    if (!(error instanceof NotOffered)) throw error;
    return chooseModel(driver, {}, signal);
  }
}

/** Where the restored session works; undefined if too little was written down. */
function placeIn(
  { repository, branch, adminDirectory, worktree: directory }: ParkedRecord,
  { checkout, baseCommit }: ParkedSession,
): Place | undefined {
  if (checkout) return { directory: checkout.directory, worktree: null, checkout, baseCommit };
  if (repository === null || branch === null) return undefined;
  return { directory, worktree: { repository, branch, adminDirectory, baseCommit } };
}

/** Removes what is left where the tree was parked. No-op if nothing is left. */
export function removeParkedLeftovers(session: Session): void {
  const { closed, worktrees } = session.host;
  // A daemon that stops has closed its journal.
  if (closed.aborted) return;
  const restoredFrom = session.record?.restoredFrom;
  const parked = restoredFrom ? worktrees.parked.find(restoredFrom) : undefined;
  if (!restoredFrom || !parked) return;
  worktrees.parked
    .settle(restoredFrom, parked, session.id)
    .catch((error: unknown) =>
      session.warn("what is left of a parked session was not removed", error, { restoredFrom }),
    );
}

function refusalOf({ reason, message }: CannotRestore): CommandRefusal {
  if (reason === "gone") return new CommandRefusal("not_found", message);
  if (reason === "taken") return new CommandRefusal("already_exists", message);
  return new CommandRefusal("repository_gone", message);
}
