// Forking: a new session that continues another one, with any kind of agent. It has a tree of its own, with the
// original's files, if the original has one; otherwise it works in the same directory. Its agent reads the
// conversation, or a summary of it, with the first prompt (fork-briefing.ts).
import { basename, join } from "node:path";
import type { Fallback } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import { findRoots, openBelowRoots } from "../directories/below-roots.ts";
import type { Directories } from "../directories/directories.ts";
import { NotOffered, type AgentState, type Driver } from "../drivers/driver.ts";
import { checkOptions, chooseModel } from "../drivers/offer.ts";
import { GitError } from "../git/git.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import { requireReadable } from "../policy/forbidden.ts";
import type { ForkSource, TreeState } from "../worktrees/fork-tree.ts";
import type { ParkedSession } from "../worktrees/parked-record.ts";
import { begin, type Plan, type StartedSession } from "./begin.ts";
import { notePlaced } from "./clone-plan.ts";
import { inOrder, ownTreeOf, parkingOf, setAuthor } from "./files.ts";
import { noteConversation, storeConversation } from "./fork-briefing.ts";
import { refuseProjectConfig } from "./project-config.ts";
import { asRefusal } from "./refusals.ts";
import { chooseFormerModel } from "./restore-plan.ts";
import type { HostParts, Session } from "./session.ts";
import { checkStarting } from "./start-work.ts";
import { gitRefusal, makeWorktree, planStart, planned, type WantedSession } from "./start-plan.ts";

export interface WantedFork extends Omit<WantedSession, "directory" | "clone"> {
  originalId: string;
  /** The directory to start in if the host has no files of the original. */
  directory: string | null;
  conversation: string;
  isCut: boolean;
  summarize: boolean;
  /** The turn of the original that a used-up quota ended, if the fork continues it. */
  continues?: Continued | undefined;
}

interface Continued {
  turnId: string;
  fallback: Fallback;
  /** The model that the fork uses; default: the kind's own. */
  providerId?: string | undefined;
  modelId?: string | undefined;
}

/** Throws refusals. The returned function makes the session active, in the commit of the outcome. */
export async function forkSession(
  session: Session,
  original: Session,
  directories: Directories,
  wanted: WantedFork,
  signal: AbortSignal,
): Promise<() => StartedSession> {
  try {
    return await begin(session, () => planFork(original, directories, wanted), signal, true);
  } catch (error) {
    throw asRefusal(error instanceof GitError ? gitRefusal(error) : error);
  }
}

async function planFork(
  original: Session,
  directories: Directories,
  wanted: WantedFork,
): Promise<Plan> {
  const known = findOriginal(original);
  const plan = known?.source
    ? await planTree(original, wanted, known.about)
    : await planSameDirectory(original.host, directories, wanted, known?.about);
  const { originalId, conversation, isCut, summarize: isSummary, continues } = wanted;
  const hasFiles = known !== undefined || !wanted.useWorktree;
  const fork = { originalId, hasFiles, isSummary, deliveredWith: null };
  return {
    ...plan,
    fallback: continues?.fallback,
    choose: (driver, state, signal) =>
      chooseLike(driver, state, known?.about, continues ?? {}, signal),
    locate: async (signal) => ({ ...(await plan.locate(signal)), fork }),
    async prepareAgent(session, driver, settings, signal) {
      const briefing = { conversation, summarize: isSummary, settings };
      await storeConversation(session, driver, briefing, signal);
    },
    onBegun(session, started) {
      notePlaced(session, started);
      noteConversation(session, isCut);
      if (continues) noteContinued(original, session, continues.turnId);
    },
  };
}

/** Within the commit that makes the fork active. No-op if the original has ended. */
function noteContinued(original: Session, session: Session, turnId: string): void {
  if (!original.isUsable) return;
  const { kind } = session.record!;
  original.note({ sessionUpdate: "turn_continued", sessionId: session.id, kind }, turnId);
}

/** What the host knows of the original. */
interface Original {
  about: ParkedSession;
  /** undefined if it has no tree of its own. */
  source: ForkSource | undefined;
  /** The session that has the tree now; undefined if it is parked. */
  inUse: Session | undefined;
}

/** undefined if the original has ended, and its files are no longer kept. */
function findOriginal(original: Session): Original | undefined {
  const { journal, worktrees, sessions } = original.host;
  const heir = () => journal.driven.list().find(({ restoredFrom }) => restoredFrom === original.id);
  const record = original.record ?? heir();
  if (record) return inUse(sessions.get(record.sessionId) ?? original, record);
  const parked = worktrees.parked.find(original.id);
  const place = worktrees.parked.placeOf(original.id);
  const about = parked?.session;
  if (!parked || !about || !place) return undefined;
  const notInUse = { about, inUse: undefined };
  if (about.checkout) {
    const directory = join(place.tree, basename(about.checkout.directory));
    const checkout = { ...about.checkout, directory };
    const tree = ownTreeOf({ directory, worktree: null, checkout })!;
    return { ...notInUse, source: { tree, isParkedWorktree: false, branchTip: null } };
  }
  const { repository, branch, branchTip } = parked;
  if (repository === null || branch === null) return { ...notInUse, source: undefined };
  const tree = { directory: place.tree, repository, adminDirectory: place.admin, branch };
  return { ...notInUse, source: { tree, isParkedWorktree: true, branchTip } };
}

function inUse(session: Session, record: DrivenSession): Original {
  if (record.state === "starting" || record.state === "ending") {
    const message = `The session is ${record.state}. Fork it when that is done.`;
    throw new CommandRefusal("agent_not_ready", message);
  }
  const about = parkingOf(record, session.host.now()).session!;
  const tree = ownTreeOf(record);
  const source = tree && { tree, isParkedWorktree: false, branchTip: null };
  return { about, source, inUse: session };
}

/** Where the tree is now, and its state, between other work on it. Throws refusals and GitError. */
async function readState(
  original: Session,
  sessionId: string,
  signal: AbortSignal,
): Promise<{ source: ForkSource; state: TreeState }> {
  const { worktrees } = original.host;
  const read = async () => {
    const source = findOriginal(original)?.source;
    if (!source) throw filesGone();
    return { source, state: await worktrees.readState(sessionId, source, signal) };
  };
  const session = findOriginal(original)?.inUse;
  return session ? inOrder(session, read) : worktrees.parked.hold(read);
}

const filesGone = () =>
  new CommandRefusal(
    "not_found",
    "The host no longer has the files of this session. Start a session instead.",
  );

/** A worktree or a clone of its own, with what the original's contains. Throws refusals. */
async function planTree(
  original: Session,
  wanted: WantedFork,
  about: ParkedSession,
): Promise<Omit<Plan, "choose">> {
  const { sessionId, kind, title, policy, mode = "ask", trusted = [], author } = wanted;
  const { checkouts, worktrees } = original.host;
  const { startedIn, baseCommit, checkout, origin } = about;
  const common = { kind, title, policy, mode, trusted, ownerId: wanted.ownerId ?? undefined };
  const originOf = origin === undefined ? {} : { origin };
  if (!checkout) {
    const repository = await allowedRepository(original);
    const plan = worktrees.plan({ sessionId, repository, title });
    const { directory } = plan;
    return {
      ...common,
      locate: async () => ({ directory, worktree: planned(plan), startedIn, ...originOf }),
      async make(session, driver, signal) {
        const { state } = await readState(original, sessionId, signal);
        const fork = { state, baseCommit };
        const leftOut = await makeWorktree(session, driver, plan, author, signal, fork);
        return [...leftOut, ...((await driver.findIgnoredConfig?.(directory)) ?? [])];
      },
    };
  }
  const directory = checkouts.planFork(sessionId, basename(checkout.directory));
  return {
    ...common,
    locate: async () => ({
      directory,
      worktree: null,
      startedIn: directory,
      baseCommit,
      checkout: { ...checkout, directory },
      ...originOf,
    }),
    async make(session, driver, signal) {
      const { source, state } = await readState(original, sessionId, signal);
      const from = source.tree.adminDirectory;
      const fork = { sessionId, directory, from, state };
      const leftOut = await checkouts.fork(fork, driver.sparsePatterns, signal);
      checkStarting(session);
      await setAuthor(session, directory, author, signal);
      await refuseProjectConfig(session.host, driver, directory);
      return [...leftOut, ...((await driver.findIgnoredConfig?.(directory)) ?? [])];
    },
  };
}

/** The repository of the original's worktree, if the host's owner still allows work in it. */
async function allowedRepository(original: Session): Promise<string> {
  const { repository } = findOriginal(original)!.source!.tree;
  const { roots } = requireReadable(original.host.policy());
  using place = await openBelowRoots(await findRoots(roots), repository);
  if (place) return repository;
  const message = `The host's policy no longer allows work in ${repository}: it is below none of its roots.`;
  throw new CommandRefusal("not_found", message);
}

/** Plans the fork like a start in the original's directory. */
function planSameDirectory(
  host: HostParts,
  directories: Directories,
  wanted: WantedFork,
  about: ParkedSession | undefined,
): Promise<Plan> {
  const directory = about?.startedIn ?? wanted.directory;
  if (directory === null) throw filesGone();
  const useWorktree = about ? false : wanted.useWorktree;
  return planStart(host, directories, { ...wanted, directory, useWorktree });
}

/** The same kind continues with its model and options, if they are still offered; another one with its wanted model. */
async function chooseLike(
  driver: Driver,
  state: AgentState,
  about: ParkedSession | undefined,
  { providerId, modelId }: Pick<Continued, "providerId" | "modelId">,
  signal: AbortSignal,
): Promise<Pick<DrivenSession, "model" | "options">> {
  if (about?.kind !== driver.kind) {
    return { model: await chooseModel(driver, { providerId, modelId }, signal), options: {} };
  }
  const model = await chooseFormerModel(driver, about, signal);
  const isSame =
    about.model === null ||
    (model?.providerId === about.model.providerId && model.modelId === about.model.modelId);
  return { model, options: isSame ? offeredOptions(state, about.options) : {} };
}

function offeredOptions(state: AgentState, options: Record<string, string>) {
  try {
    checkOptions(state.options, options);
    return options;
  } catch (error) {
    if (error instanceof NotOffered) return {};
    throw error;
  }
}
