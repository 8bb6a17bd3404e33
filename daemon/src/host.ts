// One host: its journal, its link, its commands and its reports, put together. Nothing here is
// shared between hosts, so that one process can be many of them.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import {
  HelloReply,
  liveSubject,
  nkeyFromSeed,
  protocolVersion,
  type Hello,
  type LogEntry,
} from "@hawser/host-protocol";
import type { AgentKind } from "@hawser/contract";
import { createAttachments } from "./attachments/attachments.ts";
import { createBlobLane } from "./blobs/lane.ts";
import { startUploads } from "./blobs/upload-blobs.ts";
import { createCodeHosting, type CodeHosting } from "./code-hosting/code-hosting.ts";
import { createCommands } from "./commands/answer-command.ts";
import { createClones } from "./directories/clone.ts";
import { createDirectories } from "./directories/directories.ts";
import { createHalfDone } from "./directories/half-done.ts";
import type { Driver } from "./drivers/driver.ts";
import { createFacts, type Look } from "./facts.ts";
import { createGit } from "./git/git.ts";
import { isWhole, programOf, readCurrent } from "./installs/current.ts";
import { createInstalls, type InstallsOptions } from "./installs/installs.ts";
import { openJournal, type Journal, type JournalOptions } from "./journal/journal.ts";
import type { Connection } from "./link/dial.ts";
import { dialAhead, startLink, type LinkStatus } from "./link/link.ts";
import { createServerClock, type OwnClock, type ServerClock } from "./link/server-clock.ts";
import type { LinkTiming } from "./link/timing.ts";
import { describe, silentLog, type Log } from "./log.ts";
import { createOperations } from "./operations.ts";
import { createPolicy } from "./policy/policy.ts";
import { startReports } from "./reports/send-reports.ts";
import { openSessions } from "./sessions/sessions.ts";
import { NotPaired, type State } from "./state/state.ts";
import { createUpdates, type UpdateOptions } from "./updates/updates.ts";
import { createCheckouts } from "./worktrees/checkouts.ts";
import { createPushes } from "./worktrees/push.ts";
import { createWorktrees } from "./worktrees/worktrees.ts";

export interface HostOptions {
  /** Paired already. */
  state: State;
  log?: Log;
  /** The control plane does not know the host any more: credentials are gone, the link is closed. */
  onForget?: () => void;
  onStatus?: (status: HostStatus) => void;
  clock?: OwnClock;
  timing?: Partial<LinkTiming>;
  journal?: Pick<JournalOptions, "limitBytes" | "flush">;
  /** What is looked at beside the machine itself; nothing, unless given. */
  looks?: readonly Look[];
  /** The host's code-hosting client; none, unless given. */
  codeHosting?: CodeHosting;
  /** Whoever can put another version in this one's place; without it there are no updates. */
  supervisor?: Pick<UpdateOptions, "startVersion" | "failed">;
  /** Whose agents are installed, and for which platform; none are, unless given. */
  installs?: Pick<InstallsOptions, "trustedKeys" | "platform">;
  /** The agents that can be run here, by what the host gives them; none, unless given. */
  drivers?: (given: DriverGiven) => readonly Driver[];
  /** What was made ready before the journal was free. */
  ahead?: Ahead | undefined;
}

/** What the host gives to the drivers of its agents. */
export interface DriverGiven {
  stateDirectory: string;
  /** Where the program of a kind is, in the version in use; nothing when it is not installed. */
  findAgent: (kind: AgentKind) => InstalledAgent | undefined;
  log: Log;
}

export interface InstalledAgent {
  path: string;
  version: string;
}

export interface Ahead {
  clock: ServerClock;
  dialled: Connection;
}

/** Connects a host that is about to start, so that it starts quickly, or is known not to. */
export async function connectAhead(state: State, signal: AbortSignal): Promise<Ahead> {
  const credentials = state.readCredentials();
  if (!credentials) throw new NotPaired();
  const clock = createServerClock();
  const key = nkeyFromSeed(credentials.seed);
  return { clock, dialled: await dialAhead({ ...credentials, key, clock }, signal) };
}

export interface HostStatus extends LinkStatus {
  instanceId: string;
  bootId: string;
}

export interface Host {
  status: () => HostStatus;
  journal: Journal;
  /** Records what a session did; sent as soon as there is a link. Throws JournalFull. */
  appendEntry: (sessionId: string, update: LogEntry["update"], turnId?: string | null) => LogEntry;
  /** Takes no more commands and closes the journal, but stays connected until the answer is called. */
  handOver: () => Promise<() => Promise<void>>;
  /** Says good-bye, ends the link and closes the journal. */
  stop: () => Promise<void>;
}

const cleanEveryMs = 3600_000;

/** Throws NotPaired when the host is not paired, and JournalInUse when it runs already. */
export function startHost(options: HostOptions): Host {
  const { state } = options;
  const log = options.log ?? silentLog;
  const credentials = state.readCredentials();
  if (!credentials) throw new NotPaired();
  const { instanceId, serverUrl, commandKey } = credentials;
  const bootId = randomUUID();
  const clock = options.ahead?.clock ?? createServerClock(options.clock);
  const journal = openJournal(state.journalPath(instanceId), {
    ...options.journal,
    now: () => Math.round(clock.now()),
  });
  const policy = createPolicy(state.policyPath);
  const operations = createOperations(() => link.factsChanged(), clock.now);
  const refresh = () => facts.refresh().then(() => link.factsChanged());
  const updates =
    options.supervisor &&
    createUpdates({
      ...options.supervisor,
      directory: state.directory,
      serverUrl,
      now: clock.now,
      operations,
      log,
      refresh,
    });
  const codeHosting = options.codeHosting ?? createCodeHosting({});
  const refreshFacts = () => void refresh();
  const drivers = options.drivers?.({ stateDirectory: state.directory, findAgent, log }) ?? [];
  const installs =
    options.installs &&
    createInstalls({
      ...options.installs,
      serverUrl,
      directory: state.agentsDirectory,
      now: clock.now,
      policy: policy.read,
      operations,
      log,
      onChange: refreshFacts,
    });
  const more = [codeHosting.look, updates?.look, installs && (async () => installs.look())];
  const looks = [...(options.looks ?? []), ...more.filter((look) => look !== undefined)];
  const facts = createFacts(looks, operations, log, installs?.look());

  const directories = createDirectories(policy.read);
  const git = createGit();
  const clones = createClones({
    git,
    codeHosting,
    operations,
    halfDone: createHalfDone(state.clonesDirectory, log),
    directories,
  });

  const key = nkeyFromSeed(credentials.seed);
  let { token } = credentials;
  const lane = createBlobLane({ serverUrl, key, token: () => token, clock });
  const sessions = openSessions({
    journal,
    stateDirectory: state.directory,
    drivers,
    attachments: createAttachments({ directory: join(state.directory, "attachments"), lane }),
    worktrees: createWorktrees({
      git,
      directory: state.worktreesDirectory,
      parkedDirectory: state.parkedDirectory,
      scratchDirectory: state.scratchDirectory,
    }),
    checkouts: createCheckouts({
      git,
      codeHosting,
      operations,
      directory: state.checkoutsDirectory,
    }),
    pushes: createPushes({ git, codeHosting }),
    policy: policy.read,
    directories,
    publishLive: (sessionId, text) => link.publish(liveSubject(instanceId, sessionId), text),
    now: () => Math.round(clock.now()),
    log,
  });

  const answer = createCommands({
    instanceId,
    bootId,
    commandKey,
    journal,
    log,
    now: clock.now,
    policy: policy.read,
    operations,
    directories,
    codeHosting,
    clones,
    sessions,
    installs,
    refreshFacts: facts.refresh,
    updates,
    forgetCredentials: () => state.forgetCredentials(),
  });
  const hello = (sessions: Hello["sessions"]): Hello => ({
    protocol: protocolVersion,
    machineId: state.machineId,
    journalId: journal.id,
    bootId,
    facts: facts.current(),
    sessions,
  });
  const withIds = (status: LinkStatus): HostStatus => ({ ...status, instanceId, bootId });
  const link = startLink({
    serverUrl,
    instanceId,
    key,
    token,
    saveToken(fresh) {
      token = fresh;
      try {
        state.saveCredentials({ ...credentials, token });
      } catch (error) {
        // It works on with the token in memory; after a restart a new one is asked for.
        log.warn("the token could not be saved", { error: describe(error) });
      }
    },
    clock,
    log,
    dialled: options.ahead?.dialled,
    ...(options.timing && { timing: options.timing }),
    bootId,
    hello: () => hello(journal.log.positions()),
    facts: facts.current,
    answer,
    onWelcome: (welcome, { sessions }) => journal.log.welcome(welcome.sessions, sessions),
    onOnline() {
      reports.hurry();
      uploads.wake();
      void installs?.provideOpencode();
    },
    onForget() {
      state.forgetCredentials();
      // Nobody will ever ask for what its agents do.
      void close({ endsAgents: true }).then(() => options.onForget?.());
    },
    onStatus: (status) => options.onStatus?.(withIds(status)),
  });
  const reports = startReports({
    journal,
    log,
    ask: link.ask,
    async introduce(sessions) {
      const reply = await link.ask("hello", hello(sessions), HelloReply);
      if ("refused" in reply) throw new Error("The control plane refused this host's hello.");
      journal.log.welcome(reply.sessions, sessions);
    },
    isOnline: link.isOnline,
    onForget: link.forget,
  });
  const uploads = startUploads({
    blobs: journal.blobs,
    lane,
    linkedSince: () => (link.isOnline() ? link.status().since : undefined),
    onSettled: reports.wake,
    log,
  });
  journal.log.onAppend(reports.wake);
  journal.log.onAppend(uploads.wake);
  refreshFacts();
  const cleaning = setInterval(() => {
    // By a clock that may be days off, what is still needed would be dropped.
    if (!clock.isKnown()) return;
    try {
      journal.clean();
    } catch (error) {
      log.warn("the journal could not be cleaned", { error: describe(error) });
    }
    sessions.cleanParked().catch((error: unknown) => {
      log.warn("parked worktrees could not be cleaned up", { error: describe(error) });
    });
  }, cleanEveryMs);
  cleaning.unref();

  function findAgent(kind: AgentKind): InstalledAgent | undefined {
    const { agentsDirectory } = state;
    const current = readCurrent(agentsDirectory, kind);
    if (!current || !isWhole(agentsDirectory, kind, current)) return undefined;
    return { path: programOf(agentsDirectory, kind, current), version: current.version };
  }

  let closing: Promise<void> | undefined;
  const close = (ending?: { endsAgents: boolean }) =>
    (closing ??= (async () => {
      clearInterval(cleaning);
      await clones.stop();
      await installs?.stop();
      await sessions.close(ending);
      await Promise.all([reports.stop(), uploads.stop()]);
      journal.close();
    })());

  return {
    status: () => withIds(link.status()),
    journal,
    appendEntry: (sessionId, update, turnId) => journal.log.append(sessionId, update, turnId),
    async handOver() {
      const release = await link.handOver();
      await close();
      return release;
    },
    async stop() {
      await link.stop();
      await close();
    },
  };
}
