// The sessions of this host, above the drivers: the entry for commands, and what a daemon does when it
// starts and stops. What it needs after a restart is in the journal.
import type {
  AgentKind,
  LinkableKind,
  LiveSession,
  SessionCommand,
  SessionMode,
} from "@hawser/contract";
import type { HostRules, OpenText, PayloadOf } from "@hawser/host-protocol";
import type { Attachments } from "../attachments/attachments.ts";
import type { Directories } from "../directories/directories.ts";
import type { AgentProcess } from "../drivers/agent-processes.ts";
import type { Driver } from "../drivers/driver.ts";
import type { AgentGit } from "../git/agent-git.ts";
import type { Identities } from "../identities/identities.ts";
import type { Journal } from "../journal/journal.ts";
import { describe, type Log } from "../log.ts";
import { within } from "../pause.ts";
import type { Policy } from "../policy/policy.ts";
import type { Checkouts } from "../worktrees/checkouts.ts";
import type { ParkedTree } from "../worktrees/parked.ts";
import type { Pushes } from "../worktrees/push.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import { answerRequest, type Answered, type Answering } from "./answers.ts";
import { attach, release } from "./attach.ts";
import { undoStart, type StartedSession } from "./begin.ts";
import { diffFile, diffSession, type PatchPage, type WantedPage } from "./diffs.ts";
import { endSession } from "./endings.ts";
import { forkSession, type WantedFork } from "./fork-plan.ts";
import { listCommands } from "./list-commands.ts";
import { createLiveLane, type PublishLive } from "./live-lane.ts";
import { setMode } from "./modes.ts";
import { isProcessOf } from "./own-processes.ts";
import { acceptPrompt, acceptSummary, type AcceptedPrompt, type WantedPrompt } from "./prompts.ts";
import { readSessionGit, type SessionGit } from "./commits.ts";
import { pushSession, type WantedPush } from "./pushing.ts";
import { createQueue, type Queue } from "./queue.ts";
import { createReaper } from "./reaper.ts";
import { asRefusal } from "./refusals.ts";
import {
  removeParkedLeftovers,
  restoreSession,
  type RestoredSession,
  type WantedRestore,
} from "./restore-plan.ts";
import { revertSession } from "./reverts.ts";
import { forgetRule, listRules } from "./rules.ts";
import { Session, driverOf, type HostParts } from "./session.ts";
import { endSharing, shareSession } from "./sharing.ts";
import { acceptShell, endShells, recordCutShells, type WantedShell } from "./shells.ts";
import { stopStart } from "./start-work.ts";
import { startSession, type WantedSession } from "./start-plan.ts";
import { abortTurn, deliver, stopForNext } from "./turns.ts";

export interface SessionsOptions {
  journal: Journal;
  stateDirectory: string;
  /** With the logins of the host's user. */
  drivers: readonly Driver[];
  /** Accounts of people; their drivers are used for their sessions. */
  identities: Pick<Identities, "driver" | "drivers" | "liveStarts">;
  /** Files that callers send with prompts. */
  attachments: Attachments;
  worktrees: Worktrees;
  checkouts: Checkouts;
  clonesRepositories?: boolean;
  pushes: Pushes;
  policy: () => Policy;
  agentGit: AgentGit;
  directories: Directories;
  publishLive: PublishLive;
  /** The time by the control plane's clock, in milliseconds. */
  now: () => number;
  log: Log;
}

/** A returned function takes effect when it is called, in the commit of the command's outcome. */
export interface Sessions {
  start(wanted: WantedSession, signal: AbortSignal): Promise<() => StartedSession>;
  fork(wanted: WantedFork, signal: AbortSignal): Promise<() => StartedSession>;
  prompt(wanted: WantedPrompt, signal: AbortSignal): Promise<() => AcceptedPrompt>;
  summarize(
    sessionId: string,
    ownerId: string | null | undefined,
  ): Promise<() => { turnId: string }>;
  runShell(wanted: WantedShell, signal: AbortSignal): Promise<() => { shellId: string }>;
  /** The prompts that wait. */
  queue: Queue;
  /** The rules that answers have stored. */
  listRules(sessionId: string): HostRules;
  forgetRule(wanted: PayloadOf<"forget_session_rule">): () => HostRules;
  abort(sessionId: string): Promise<{ aborted: boolean; droppedPrompts: number }>;
  end(sessionId: string): Promise<void>;
  push(wanted: WantedPush, signal: AbortSignal): ReturnType<typeof pushSession>;
  readGit(sessionId: string, signal: AbortSignal): Promise<SessionGit>;
  answer(wanted: Answering, signal: AbortSignal): Promise<Answered | (() => Answered)>;
  rename(sessionId: string, title: string, signal: AbortSignal): Promise<void>;
  setMode(sessionId: string, mode: SessionMode, ownerId: string | null | undefined): void;
  share(sessionId: string, ownerId: string, guests: readonly string[] | null): void;
  watch(sessionId: string): OpenText[];
  describe(sessionId: string): LiveSession;
  listCommands(sessionId: string, signal: AbortSignal): Promise<SessionCommand[]>;
  diff(sessionId: string, signal: AbortSignal): ReturnType<typeof diffSession>;
  diffFile(sessionId: string, wanted: WantedPage, signal: AbortSignal): Promise<PatchPage>;
  revert(sessionId: string, messageId: string, signal: AbortSignal): Promise<void>;
  restore(wanted: WantedRestore, signal: AbortSignal): Promise<() => RestoredSession>;
  listParked(): Promise<ParkedTree[]>;
  /** Deletes parked trees that are older than the limit, or more than the limit allows. */
  cleanParked(): Promise<void>;
  /** Returns the ids of the sessions that are detached. */
  restartAgent(kind: AgentKind, signal: AbortSignal): Promise<string[]>;
  /** Restarts the agents of one driver. Their sessions continue with the next prompt. */
  restartDriver(driver: Driver, signal: AbortSignal): Promise<void>;
  /** Ends the agents of an account's sessions, which accept no prompt any more. */
  loseAccount(
    ownerId: string,
    kind: LinkableKind,
    driver: Driver | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  driver(kind: AgentKind): Driver | undefined;
  /** Whether a shell command or the agent of this session has started the process. */
  isProcessOf(sessionId: string, found: AgentProcess): boolean;
  /** Throws a refusal if the kind cannot run here. */
  readyDriver(kind: AgentKind): Driver;
  /** Stops listening to the agents. Agents that can go on without the daemon do, unless `endsAgents`. */
  close(options?: { endsAgents: boolean }): Promise<void>;
}

const reapEveryMs = 60_000;
const settleMs = 3_000;
const daemonStopped = "The daemon was stopped while it ran.";
const cutStart = new Error("The daemon was stopped while the session started.");

export function openSessions(options: SessionsOptions): Sessions {
  const { journal, log, worktrees } = options;
  const { driven } = journal;
  const drivers = new Map(options.drivers.map((driver) => [driver.kind, driver]));
  const closed = new AbortController();
  const sessions = new Map<string, Session>();
  const reaper = createReaper({ ...options, sessions, closed: closed.signal });
  const host: HostParts = {
    ...options,
    drivers,
    sessions,
    deliver,
    reap: reaper.reap,
    lane: createLiveLane(options.publishLive),
    restarting: new Map(),
    closed: closed.signal,
  };

  /** The same object for each session that the journal has. */
  function find(sessionId: string): Session {
    const known = sessions.get(sessionId);
    if (known) return known;
    const session = new Session(host, sessionId);
    if (session.record) sessions.set(sessionId, session);
    return session;
  }

  const all = () => driven.list().map(({ sessionId }) => find(sessionId));

  /** Continues with what an earlier daemon left. */
  function resume(session: Session): void {
    const fail = (error: unknown) => session.warn("a session was not resumed", error);
    recordCutShells(session);
    if (session.isUsable) removeParkedLeftovers(session);
    if (session.state === "starting") void undoStart(session, session.record!, cutStart);
    else if (session.state === "ending") endSession(session).catch(fail);
    else if (session.knownDriver?.endsWithDaemon) detach(session).catch(fail);
    else if (isUnfinished(session)) attach(session).then(() => goOn(session), fail);
    else session.wake();
  }

  function goOn(session: Session): void {
    stopForNext(session);
    session.wake();
  }

  const isUnfinished = (session: Session) =>
    session.runningTurn !== undefined || driven.openRequests(session.id).length > 0;

  /** The agent ended with the daemon. Its last events are recorded; prompts that wait resume it. */
  async function detach(session: Session): Promise<void> {
    if (isUnfinished(session)) {
      await attach(session);
      release(session);
    }
    if (session.record?.state === "active" && !session.agent) {
      const reason = "The agent ended with the daemon. The next prompt resumes the session.";
      session.commit(() => session.setStatus("detached", "daemon_restarted", reason));
    }
    session.wake();
  }

  for (const session of all()) resume(session);
  void reaper.reap();
  const sweeping = setInterval(() => void reaper.reap(), reapEveryMs);
  sweeping.unref();

  return {
    start: (wanted, signal) =>
      startSession(find(wanted.sessionId), options.directories, wanted, signal),
    fork: (wanted, signal) =>
      forkSession(
        find(wanted.sessionId),
        find(wanted.originalId),
        options.directories,
        wanted,
        signal,
      ),
    prompt: (wanted, signal) => acceptPrompt(find(wanted.sessionId), wanted, signal),
    summarize: (sessionId, ownerId) => acceptSummary(find(sessionId), ownerId),
    runShell: (wanted, signal) => acceptShell(find(wanted.sessionId), wanted, signal),
    queue: createQueue(find),
    listRules: (sessionId) => listRules(find(sessionId)),
    forgetRule: (wanted) => forgetRule(find(wanted.sessionId), wanted),
    async abort(sessionId) {
      const session = find(sessionId);
      return session.allows("abort") ? abortTurn(session) : { aborted: false, droppedPrompts: 0 };
    },
    end: (sessionId) => endSession(find(sessionId)),
    push: (wanted, signal) => pushSession(find(wanted.sessionId), wanted, signal),
    readGit: (sessionId, signal) => readSessionGit(find(sessionId), signal),
    answer: (wanted, signal) => answerRequest(find(wanted.sessionId), wanted, signal),

    async rename(sessionId, title, signal) {
      const session = find(sessionId);
      session.require("read");
      session.commit(() => {
        session.change({ title, isTitledByCaller: true });
        session.note({ sessionUpdate: "session_info_update", title });
      });
      try {
        await session.agent?.rename(title, signal);
      } catch (error) {
        // Our title counts; the agent's own is only seen on the host.
        session.warn("an agent's session was not renamed", error);
      }
    },

    setMode: (sessionId, mode, ownerId) => setMode(find(sessionId), mode, ownerId),
    share: (sessionId, ownerId, guests) => shareSession(find(sessionId), ownerId, guests),
    watch: (sessionId) => (driven.get(sessionId) ? host.lane.watch(sessionId) : []),

    describe(sessionId) {
      const session = find(sessionId);
      const { title, model, usage, state } = session.require("read");
      const isWaiting = driven.openRequests(sessionId).some((request) => request.state === "open");
      const isBusy = session.prompts.length > 0 || session.shells.size > 0;
      const resting = session.agent ? "idle" : "stopped";
      const working = isWaiting ? "waiting" : isBusy ? "running" : resting;
      return { title, status: state === "starting" ? "starting" : working, model, usage };
    },

    listCommands: (sessionId, signal) => listCommands(find(sessionId), signal),
    diff: (sessionId, signal) => diffSession(find(sessionId), signal),
    diffFile: (sessionId, wanted, signal) => diffFile(find(sessionId), wanted, signal),
    revert: (sessionId, messageId, signal) => revertSession(find(sessionId), messageId, signal),
    restore: (wanted, signal) => restoreSession(find(wanted.sessionId), wanted, signal),
    listParked: () => worktrees.parked.list(),
    async cleanParked() {
      const limitBytes = options.policy().parkedLimitBytes;
      const taken = new Set(driven.list().flatMap(({ restoredFrom }) => restoredFrom ?? []));
      const now = options.now();
      const { dropped, failed } = await worktrees.parked.clean({ now, limitBytes, taken });
      for (const [sessionId, error] of failed) {
        log.warn("a parked session was not deleted", { sessionId, error: describe(error) });
      }
      if (dropped.length > 0) {
        log.info("parked sessions were deleted", { sessionIds: dropped.join(" ") });
      }
    },

    async restartAgent(kind, signal) {
      const own = readyDriver(kind);
      const others = options.identities.drivers().filter((driver) => driver.kind === kind);
      const served = all().filter((session) => session.isUsable && session.record!.kind === kind);
      await Promise.all([own, ...others].map((driver) => restart(driver, signal)));
      return served.map(({ id }) => id);
    },
    restartDriver: restart,

    async loseAccount(ownerId, kind, driver, signal) {
      const isUsing = ({ record }: Session) => record?.ownerId === ownerId && record.kind === kind;
      const using = all().filter(isUsing);
      for (const session of using) if (session.state === "starting") await stopStart(session);
      // Recorded before the agents end, which would be taken for a loss.
      const reason = "The account that this session used was unlinked from the host.";
      journal.atOnce(() => {
        for (const session of using) {
          session.setStatus("error", "account_unlinked", reason);
          // Guests of the former account are not those of an account that is linked later.
          endSharing(session);
        }
      });
      await driver?.restart(signal);
      await Promise.all(using.map((session) => endShells(session, reason)));
    },

    driver: (kind) => drivers.get(kind),
    isProcessOf: (sessionId, found) => isProcessOf(find(sessionId), found),
    readyDriver,

    async close({ endsAgents } = { endsAgents: false }) {
      clearInterval(sweeping);
      // A prompt on its way arrives, or the next daemon finds that it has not.
      const underWay = [...sessions.values()].flatMap(({ work, files }) =>
        work.type === "turn" && work.turn.delivery
          ? [files.last, work.turn.delivery.done]
          : [files.last],
      );
      await within(settleMs, Promise.all(underWay));
      await within(settleMs, Promise.all([...sessions.values()].map(stopStart)));
      const shells = [...sessions.values()].map((session) => endShells(session, daemonStopped));
      await Promise.all(shells);
      closed.abort();
      const opened = [...options.drivers, ...options.identities.drivers()];
      await Promise.all(opened.map((driver) => closeDriver(driver, endsAgents)));
      host.lane.close();
      await reaper.settled();
    },
  };

  async function restart(driver: Driver, signal: AbortSignal): Promise<void> {
    const active = all().filter(
      (session) => session.record!.state === "active" && session.knownDriver === driver,
    );
    const work = driver.restart(signal);
    host.restarting.set(driver, work);
    try {
      await work;
    } catch (error) {
      throw asRefusal(error);
    } finally {
      host.restarting.delete(driver);
    }
    const reason = "The agent was restarted. The next prompt resumes the session.";
    journal.atOnce(() => {
      for (const session of active) {
        // A session with prompts that wait is being resumed already.
        if (!session.agent) session.setStatus("detached", "agent_restarted", reason);
      }
    });
  }

  async function closeDriver(driver: Driver, endsAgent: boolean): Promise<void> {
    try {
      if (endsAgent) await within(settleMs, driver.restart(AbortSignal.timeout(settleMs)));
      await driver.close();
    } catch (error) {
      log.warn("a driver was not closed", { kind: driver.kind, error: describe(error) });
    }
  }

  function readyDriver(kind: AgentKind): Driver {
    try {
      return driverOf(host, kind);
    } catch (error) {
      throw asRefusal(error);
    }
  }
}
