// Puts one host together: its journal, its link, its commands and its reports. Hosts share nothing, so
// that one process can run many of them.
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
import { createFacts, type FactReader } from "./facts.ts";
import { createAgentGit } from "./git/agent-git.ts";
import { createGit } from "./git/git.ts";
import { isWhole, programOf, readCurrent } from "./installs/current.ts";
import { openHomes } from "./identities/homes.ts";
import { createIdentities, type AccountKinds } from "./identities/identities.ts";
import { openSealing } from "./identities/sealing.ts";
import { createInstalls, type InstallsOptions } from "./installs/installs.ts";
import { openJournal, type Journal, type JournalOptions } from "./journal/journal.ts";
import type { Connection } from "./link/dial.ts";
import type { LinkStatus } from "./link/link-status.ts";
import { dialAhead, startLink } from "./link/link.ts";
import { createServerClock, type OwnClock, type ServerClock } from "./link/server-clock.ts";
import type { LinkTiming } from "./link/timing.ts";
import { describe, silentLog, type Log } from "./log.ts";
import { createOperations } from "./operations.ts";
import { createPolicy } from "./policy/policy.ts";
import { protectedPaths } from "./policy/protected-paths.ts";
import { startReports } from "./reports/send-reports.ts";
import { openSessions } from "./sessions/sessions.ts";
import { NotPaired, type Credentials, type State } from "./state/state.ts";
import { createUpdates, type UpdateOptions } from "./updates/updates.ts";
import { createCheckouts } from "./worktrees/checkouts.ts";
import { createPushes } from "./worktrees/push.ts";
import { createWorktrees } from "./worktrees/worktrees.ts";

export interface HostOptions {
  /** Of a paired host. */
  state: State;
  log?: Log;
  /** The control plane has removed the host: credentials are deleted, the link is closed. */
  onForget?: () => void;
  onStatus?: (status: HostStatus) => void;
  clock?: OwnClock;
  timing?: Partial<LinkTiming>;
  journal?: Pick<JournalOptions, "limitBytes" | "flush">;
  /** Further facts about the host, besides the machine's own; none by default. */
  factReaders?: readonly FactReader[];
  /** The host's code-hosting client; none by default. */
  codeHosting?: CodeHosting;
  /** Replaces this daemon with another version; without it there are no updates. */
  supervisor?: Pick<UpdateOptions, "startVersion" | "failed">;
  /** Whose signed agents are installed, and for which platform; without it none are. */
  installs?: Pick<InstallsOptions, "trustedKeys" | "platform">;
  /** Makes the drivers of the agents that this host runs; none by default. */
  drivers?: (given: DriverGiven) => readonly Driver[];
  /** How people's own accounts are used; none by default. */
  accounts?: (given: DriverGiven) => AccountKinds;
  /** What was prepared before the journal was free. */
  ahead?: Ahead | undefined;
}

/** What the host passes to the drivers of its agents. */
export interface DriverGiven {
  stateDirectory: string;
  /** Path of a kind's program, in the version in use; undefined if it is not installed. */
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

/** Connects a host that will start soon, so that it starts quickly, or fails before it starts. */
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
  /** Records an entry of a session; it is sent as soon as there is a link. Throws JournalFull. */
  appendEntry: (sessionId: string, update: LogEntry["update"], turnId?: string | null) => LogEntry;
  /** Accepts no more commands and closes the journal. Stays connected until the returned function is called. */
  handOver: () => Promise<() => Promise<void>>;
  /** Announces the departure, ends the link and closes the journal. */
  stop: () => Promise<void>;
}

const cleanEveryMs = 3600_000;
const restartMs = 20_000;

/** Throws NotPaired if the host is not paired, and JournalInUse if it is running already. */
export function startHost(options: HostOptions): Host {
  const { state } = options;
  const log = options.log ?? silentLog;
  const credentials = state.readCredentials();
  if (!credentials) throw new NotPaired();
  let kept = credentials;
  const save = (changed: Partial<Credentials>) => {
    const next = { ...kept, ...changed };
    state.saveCredentials(next);
    kept = next;
  };
  const { instanceId, serverUrl } = credentials;
  const bootId = randomUUID();
  const clock = options.ahead?.clock ?? createServerClock(options.clock);
  const journal = openJournal(state.journalPath(instanceId), {
    ...options.journal,
    now: () => Math.round(clock.now()),
  });
  // The instance shows the new roots and warnings without waiting for a refresh.
  const policy = createPolicy(state.policyPath, () => refreshFacts());
  policy.read();
  const operations = createOperations(() => link.factsChanged(), clock.now);
  const refresh = async () => {
    const read = await facts.refresh();
    link.factsChanged();
    return read;
  };
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
  const given = { stateDirectory: state.directory, findAgent, log };
  const drivers = options.drivers?.(given) ?? [];
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
  const more = [
    codeHosting.readFacts,
    updates?.readFacts,
    installs && (async () => installs.readFacts()),
  ];
  const readers = [
    ...(options.factReaders ?? []),
    ...more.filter((reader) => reader !== undefined),
  ];
  const facts = createFacts(readers, operations, log, installs?.readFacts());

  const directories = createDirectories(policy.read);
  const git = createGit();
  const clones = createClones({
    git,
    codeHosting,
    operations,
    halfDone: createHalfDone(state.clonesDirectory, log),
    directories,
    policy: policy.read,
  });

  const key = nkeyFromSeed(credentials.seed);
  let { token } = credentials;
  const lane = createBlobLane({ serverUrl, key, token: () => token, clock });
  const identities = createIdentities({
    kinds: options.accounts?.(given) ?? {},
    homes: openHomes(state.homesDirectory, instanceId, log),
    sealing: openSealing(state.sealingKeyPath),
    policy: policy.read,
    onLinkedAgain: (driver) => sessions.restartDriver(driver, AbortSignal.timeout(restartMs)),
    onUnlink: (ownerId, kind, driver) =>
      sessions.loseAccount(ownerId, kind, driver, AbortSignal.timeout(restartMs)),
    now: clock.now,
    log,
  });
  const sessions = openSessions({
    journal,
    stateDirectory: state.directory,
    drivers,
    identities,
    attachments: createAttachments({ directory: join(state.directory, "attachments"), lane }),
    worktrees: createWorktrees({
      git,
      directory: state.worktreesDirectory,
      parkedDirectory: state.parkedDirectory,
      baselinesDirectory: state.baselinesDirectory,
      trustedDirectory: state.trustedDirectory,
      closedPaths: protectedPaths(state.directory).secrets,
      scratchDirectory: state.scratchDirectory,
    }),
    checkouts: createCheckouts({
      git,
      codeHosting,
      operations,
      directory: state.checkoutsDirectory,
      policy: policy.read,
    }),
    pushes: createPushes({ git, codeHosting }),
    agentGit: createAgentGit(git),
    policy: policy.read,
    directories,
    publishLive: (sessionId, text) => link.publish(liveSubject(instanceId, sessionId), text),
    now: () => Math.round(clock.now()),
    log,
  });

  const commandKeys = () => [kept.commandKey, kept.secondCommandKey ?? []].flat();
  const answer = createCommands({
    instanceId,
    hostKey: key.publicKey,
    bootId,
    commandKeys,
    journal,
    log,
    now: clock.now,
    policy: policy.read,
    operations,
    directories,
    codeHosting,
    clones,
    sessions,
    identities,
    installs,
    refreshFacts: refresh,
    updates,
    forgetCredentials: () => state.forgetCredentials(),
    renewToken: () => link.renewNow(),
    pinCommandKeys([commandKey, secondCommandKey]) {
      save({ commandKey: commandKey!, secondCommandKey });
      log.info("pinned the command keys", { commandKey, secondCommandKey });
    },
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
    commandKeys,
    saveToken(fresh) {
      token = fresh;
      try {
        save({ token });
      } catch (error) {
        // The daemon continues with the token in memory; after a restart it asks for a new one.
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
      // Nobody will ask for the agents' work any more.
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
    // A clock that is days off would drop records that are still needed.
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
      await Promise.all([sessions.close(ending), identities.close()]);
      if (ending?.endsAgents) identities.removeAll();
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
