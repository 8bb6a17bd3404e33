// The sessions of this host, above the drivers: who may do what when, the queue, the turns, the log and
// everything on disk. Callers are the commands; what it needs after a restart it finds in the journal.
import type { AgentKind, LiveSession, SessionUpdate } from "@hawser/contract";
import type { OpenText } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import type { Attachments } from "../attachments/attachments.ts";
import type { Directories } from "../directories/directories.ts";
import type { Driver } from "../drivers/driver.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import type { Journal } from "../journal/journal.ts";
import { describe, type Log } from "../log.ts";
import { within } from "../pause.ts";
import type { Policy } from "../policy/policy.ts";
import type { Checkouts } from "../worktrees/checkouts.ts";
import type { ParkedTree } from "../worktrees/parked.ts";
import type { Pushed, Pushes } from "../worktrees/push.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import { answerRequest, type Answered, type Answering } from "./answers.ts";
import { attach, letGo } from "./attach.ts";
import { stopStart } from "./clone-starts.ts";
import { diffFile, diffSession, type PatchPage, type WantedPage } from "./diffs.ts";
import { driverOf, mayWork, note, runningTurn, setStatus, type Core, type Live } from "./core.ts";
import { endSession } from "./endings.ts";
import { placeToPark } from "./file-work.ts";
import { openLiveLane, type PublishLive } from "./live-lane.ts";
import { pushSession, type AskedPush } from "./pushing.ts";
import { reapOrphans } from "./orphans.ts";
import { asRefusal } from "./refusals.ts";
import {
  restoreSession,
  settleRestored,
  type RestoredSession,
  type WantedRestore,
} from "./restores.ts";
import { revertSession } from "./reverts.ts";
import {
  closeShells,
  recordCutShells,
  shellStarts,
  takeShell,
  type WantedShell,
} from "./shells.ts";
import { startSession, undoStart, type StartedSession, type WantedSession } from "./starts.ts";
import { takeSummary } from "./summaries.ts";
import { abortTurn, pump, takePrompt, type TakenPrompt, type WantedPrompt } from "./turns.ts";

export interface SessionsOptions {
  journal: Journal;
  stateDirectory: string;
  drivers: readonly Driver[];
  /** Files that go with prompts. */
  attachments: Attachments;
  worktrees: Worktrees;
  checkouts: Checkouts;
  pushes: Pushes;
  policy: () => Policy;
  directories: Directories;
  publishLive: PublishLive;
  /** The time by the control plane's clock, in milliseconds. */
  now: () => number;
  log: Log;
}

/** What a function gives is called in the commit that keeps the command's outcome. */
export interface Sessions {
  start(wanted: WantedSession, signal: AbortSignal): Promise<() => StartedSession>;
  prompt(wanted: WantedPrompt, signal: AbortSignal): Promise<() => TakenPrompt>;
  summarize(sessionId: string): Promise<() => { turnId: string }>;
  runShell(wanted: WantedShell, signal: AbortSignal): Promise<() => { shellId: string }>;
  abort(sessionId: string): Promise<{ aborted: boolean; droppedPrompts: number }>;
  end(sessionId: string): Promise<void>;
  push(wanted: AskedPush, signal: AbortSignal): Promise<Pushed>;
  answer(wanted: Answering, signal: AbortSignal): Promise<Answered | (() => Answered)>;
  rename(sessionId: string, title: string, signal: AbortSignal): Promise<void>;
  watch(sessionId: string): OpenText[];
  describe(sessionId: string): LiveSession;
  diff(sessionId: string, signal: AbortSignal): ReturnType<typeof diffSession>;
  diffFile(sessionId: string, wanted: WantedPage, signal: AbortSignal): Promise<PatchPage>;
  revert(sessionId: string, messageId: string, signal: AbortSignal): Promise<void>;
  restore(wanted: WantedRestore, signal: AbortSignal): Promise<() => RestoredSession>;
  listParked(): Promise<ParkedTree[]>;
  /** Drops worktrees and clones of ended sessions that were kept long enough, or are too many. */
  cleanParked(): Promise<void>;
  restartAgent(kind: AgentKind, signal: AbortSignal): Promise<string[]>;
  driver(kind: AgentKind): Driver | undefined;
  /** Throws a refusal when the kind cannot be run here. */
  readyDriver(kind: AgentKind): Driver;
  /** Lets go of the agents: what goes on without the daemon goes on, unless it is to end too. */
  close(options?: { endsAgents: boolean }): Promise<void>;
}

const reapEveryMs = 60_000;
const settleMs = 3_000;
const cutStart = new Error("The daemon was stopped while the session began.");

export function openSessions(options: SessionsOptions): Sessions {
  const { journal, log, worktrees } = options;
  const { driven } = journal;
  const drivers = new Map(options.drivers.map((driver) => [driver.kind, driver]));
  const lives = new Map<string, Live>();
  const closed = new AbortController();
  let reaping: Promise<void> = Promise.resolve();

  const core: Core = {
    ...options,
    drivers,
    lane: openLiveLane(options.publishLive),
    live(sessionId) {
      const known = lives.get(sessionId) ?? {
        waiters: new Set(),
        answering: new Map(),
        shells: new Map(),
      };
      lives.set(sessionId, known);
      return known;
    },
    forget: (sessionId) => void lives.delete(sessionId),
    restarting: new Map(),
    wake: (sessionId) => pump(core, sessionId),
    // One after the other, and never one that had begun before it was asked for.
    reap: () => (reaping = reaping.then(reap)),
    closed: closed.signal,
  };

  async function reap(): Promise<void> {
    if (closed.signal.aborted) return;
    const kept = driven.list().flatMap(({ sessionId }) => driven.prompts(sessionId));
    options.attachments.tidy(kept.flatMap(({ attachments = [] }) => attachments));
    try {
      await reapOrphans({
        stateDirectory: options.stateDirectory,
        liveStarts: () => [
          ...options.drivers.flatMap((driver) => driver.liveStarts()),
          ...shellStarts(lives.values()),
        ],
        placeOf(realPath) {
          const found = worktrees.placeOf(realPath);
          if (found?.isParked) return "parked";
          const place = found?.directory ?? options.checkouts.placeOf(realPath);
          if (place === undefined) return undefined;
          const session = driven.list().find((each) => placeToPark(each) === place);
          return !session || session.state === "ending" ? "ended" : undefined;
        },
        log,
      });
    } catch (error) {
      log.warn("processes were not looked at", { error: describe(error) });
    }
  }

  const find = (sessionId: string) => {
    const session = driven.get(sessionId);
    if (session && session.state !== "ending") return session;
    throw new CommandRefusal("not_found", "The host has no such session.");
  };

  /** What an earlier daemon left: nothing is lost, and nothing runs that nobody waits for. */
  function takeUp(): void {
    for (const session of driven.list()) {
      const { sessionId, state } = session;
      recordCutShells(core, session);
      if (mayWork(session)) settleRestored(core, session);
      const fail = (error: unknown) =>
        log.warn("a session was not taken up again", { sessionId, error: describe(error) });
      if (state === "starting") void undoStart(core, session, cutStart);
      else if (state === "ending") endSession(core, sessionId).catch(fail);
      else if (drivers.get(session.kind)?.endsWithDaemon) detach(session).catch(fail);
      else if (isUnfinished(sessionId)) {
        attach(core, sessionId).then(() => core.wake(sessionId), fail);
      } else core.wake(sessionId);
    }
    void core.reap();
  }

  const isUnfinished = (sessionId: string) =>
    runningTurn(core, sessionId) !== undefined || driven.openRequests(sessionId).length > 0;

  /** Its agent has ended with the daemon. What it still did is told; prompts that wait bring it back. */
  async function detach({ sessionId }: DrivenSession): Promise<void> {
    if (isUnfinished(sessionId)) {
      await attach(core, sessionId);
      letGo(core, sessionId);
    }
    if (driven.get(sessionId)?.state === "active" && !core.live(sessionId).agent) {
      const reason = "The agent ended with the daemon. The next prompt takes the session up again.";
      journal.atOnce(() => setStatus(core, sessionId, "detached", reason));
    }
    core.wake(sessionId);
  }
  takeUp();
  const sweeping = setInterval(() => void core.reap(), reapEveryMs);
  sweeping.unref();

  return {
    start: (wanted, signal) => startSession(core, options.directories, wanted, signal),
    prompt: (wanted, signal) => takePrompt(core, wanted, signal),
    summarize: (sessionId) => takeSummary(core, sessionId),
    runShell: (wanted, signal) => takeShell(core, wanted, signal),
    async abort(sessionId) {
      const session = driven.get(sessionId);
      if (!session || !mayWork(session)) return { aborted: false, droppedPrompts: 0 };
      return abortTurn(core, sessionId);
    },
    end: (sessionId) => endSession(core, sessionId),
    push: (wanted, signal) => pushSession(core, wanted, signal),
    answer: (wanted, signal) => answerRequest(core, wanted, signal),

    async rename(sessionId, title, signal) {
      find(sessionId);
      const update: SessionUpdate = { sessionUpdate: "session_info_update", title };
      journal.atOnce(() => {
        driven.change(sessionId, { title, isTitledByCaller: true });
        note(core, sessionId, update);
      });
      try {
        await core.live(sessionId).agent?.rename(title, signal);
      } catch (error) {
        // The name is ours; the agent's own is for those who look at it on the host.
        log.warn("an agent's session was not renamed", { sessionId, error: describe(error) });
      }
    },

    watch: (sessionId) => (driven.get(sessionId) ? core.lane.watch(sessionId) : []),

    describe(sessionId) {
      const { title, model, usage, state } = find(sessionId);
      const isWaiting = driven.openRequests(sessionId).some((request) => request.state === "open");
      const isBusy = driven.prompts(sessionId).length > 0 || core.live(sessionId).shells.size > 0;
      const isServed = core.live(sessionId).agent !== undefined;
      const resting = isServed ? "idle" : "stopped";
      const working = isWaiting ? "waiting" : isBusy ? "running" : resting;
      return { title, status: state === "starting" ? "starting" : working, model, usage };
    },

    diff: (sessionId, signal) => diffSession(core, find(sessionId), signal),
    diffFile: (sessionId, wanted, signal) => diffFile(core, find(sessionId), wanted, signal),
    revert: (sessionId, messageId, signal) => revertSession(core, sessionId, messageId, signal),
    restore: (wanted, signal) => restoreSession(core, wanted, signal),
    listParked: () => worktrees.parked.list(),
    async cleanParked() {
      const limitBytes = options.policy().parkedLimitBytes;
      const taken = new Set(driven.list().flatMap(({ restoredFrom }) => restoredFrom ?? []));
      const now = options.now();
      const { dropped, failed } = await worktrees.parked.clean({ now, limitBytes, taken });
      for (const [sessionId, error] of failed) {
        log.warn("what was kept of an ended session was not dropped", {
          sessionId,
          error: describe(error),
        });
      }
      if (dropped.length > 0)
        log.info("what was kept of ended sessions was dropped", { sessionIds: dropped.join(" ") });
    },

    async restartAgent(kind, signal) {
      const driver = readyDriver(kind);
      const served = driven.list().filter((session) => session.kind === kind && mayWork(session));
      const work = driver.restart(signal);
      core.restarting.set(kind, work);
      try {
        await work;
      } catch (error) {
        throw asRefusal(error);
      } finally {
        core.restarting.delete(kind);
      }
      const reason = "The agent was restarted. The next prompt takes the session up again.";
      journal.atOnce(() => {
        for (const { sessionId, state } of served) {
          // One with prompts waiting is being taken up already.
          const isBack = core.live(sessionId).agent !== undefined;
          if (state === "active" && !isBack) setStatus(core, sessionId, "detached", reason);
        }
      });
      return served.map(({ sessionId }) => sessionId);
    },

    driver: (kind) => drivers.get(kind),
    readyDriver,

    async close({ endsAgents } = { endsAgents: false }) {
      clearInterval(sweeping);
      // A prompt on its way arrives, or the next daemon finds that it has not.
      const underWay = [...lives.values()].flatMap(({ giving, fileWork }) =>
        [giving?.done, fileWork].filter((work) => work !== undefined),
      );
      await within(settleMs, Promise.all(underWay));
      const starts = [...lives.keys()].map((sessionId) => stopStart(core, sessionId));
      await within(settleMs, Promise.all(starts));
      await closeShells(core, lives.keys());
      closed.abort();
      await Promise.all(options.drivers.map((driver) => letGoOf(driver, endsAgents)));
      core.lane.close();
      await reaping;
    },
  };

  async function letGoOf(driver: Driver, endsIt: boolean): Promise<void> {
    try {
      if (endsIt) await within(settleMs, driver.restart(AbortSignal.timeout(settleMs)));
      await driver.close();
    } catch (error) {
      log.warn("an agent was not let go", { kind: driver.kind, error: describe(error) });
    }
  }

  function readyDriver(kind: AgentKind): Driver {
    try {
      return driverOf(core, kind);
    } catch (error) {
      throw asRefusal(error);
    }
  }
}
