// Puts one host together: its journal, its link, its commands and its reports. Hosts share nothing, so
// that one process can run many of them.
import { randomUUID } from "node:crypto";
import {
  HelloReply,
  liveSubject,
  nkeyFromSeed,
  protocolVersion,
  type Hello,
  type LogEntry,
} from "@hawser/host-protocol";
import { createBlobLane } from "./blobs/lane.ts";
import { createCodeHosting, type CodeHosting } from "./code-hosting/code-hosting.ts";
import type { Driver } from "./drivers/driver.ts";
import { createFacts, type FactReader } from "./facts.ts";
import { findInstalled } from "./installs/current.ts";
import type { AccountKinds } from "./identities/identities.ts";
import { openSealing } from "./identities/sealing.ts";
import { createInstalls, type InstallsOptions } from "./installs/installs.ts";
import type { Journal, JournalOptions } from "./journal/journal.ts";
import type { Connection } from "./link/dial.ts";
import type { LinkStatus } from "./link/link-status.ts";
import { dialAhead, startLink } from "./link/link.ts";
import { startMover } from "./link/move.ts";
import { createServerClock, type OwnClock, type ServerClock } from "./link/server-clock.ts";
import type { LinkTiming } from "./link/timing.ts";
import { describe, silentLog, type Log } from "./log.ts";
import { createOperations } from "./operations.ts";
import { createPolicy } from "./policy/policy.ts";
import { NotPaired, type Credentials, type State } from "./state/state.ts";
import { createUpdates, type UpdateOptions } from "./updates/updates.ts";
import { openWork, type DriverGiven, type WorkOptions } from "./work.ts";
import type { Separation } from "./separation/separation.ts";
import { openWorkers } from "./separation/workers.ts";

export interface HostOptions {
  /** Of a paired host. */
  state: State;
  log?: Log;
  /** The control plane has removed the host: credentials are deleted, the link is closed. */
  onForget?: () => void;
  onStatus?: (status: HostStatus) => void;
  /** The host has another address of its service, and is to start again. Without it the host never moves. */
  onMoved?: () => void;
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
  /** If agents run as several Unix users: which, and the program of their workers. */
  separated?: { separation: Separation; program: readonly string[] } | undefined;
  /** What was prepared before the journal was free. */
  ahead?: Ahead | undefined;
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
  /** Why the host does not use the address that the service has announced. */
  addressProblem: string | null;
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
    async () => (await work.readFacts?.()) ?? {},
    () => {
      const message = mover?.problem();
      const warnings = message === undefined ? [] : [{ code: "address_not_used", message }];
      return Promise.resolve({ warnings });
    },
  ];
  const readers = [
    ...(options.factReaders ?? []),
    ...more.filter((reader) => reader !== undefined),
  ];
  const facts = createFacts(
    readers,
    { list: () => [...operations.list(), ...(work.operations?.() ?? [])] },
    log,
    installs?.readFacts(),
  );

  const key = nkeyFromSeed(credentials.seed);
  let { token } = credentials;
  const lane = createBlobLane({ serverUrl, key, token: () => token, clock });
  const commandKeys = () => [kept.commandKey, kept.secondCommandKey ?? []].flat();
  const workOptions: WorkOptions = {
    state,
    instanceId,
    serverUrl,
    clock,
    lane,
    policy: policy.read,
    operations,
    codeHosting,
    sealing: openSealing(state.sealingKeyPath),
    findAgent: (kind) => findInstalled(state.agentsDirectory, kind),
    log,
    ...(options.journal && { journal: options.journal }),
    drivers: options.drivers,
    accounts: options.accounts,
    uplink: {
      ask: (...call) => link.ask(...call),
      async introduce(sessions) {
        const reply = await link.ask("hello", hello(sessions), HelloReply);
        if ("refused" in reply) throw new Error("The control plane refused this host's hello.");
        return reply.sessions;
      },
      publish: (sessionId, text) => link.publish(liveSubject(instanceId, sessionId), text),
      linkedSince: () => (link.isOnline() ? link.status().since : undefined),
      factsChanged: () => link.factsChanged(),
      forget: () => link.forget(),
    },
    commands: {
      hostKey: key.publicKey,
      bootId,
      commandKeys,
      installs,
      refreshFacts: refresh,
      updates,
      forgetCredentials: () => state.forgetCredentials(),
      renewToken: () => link.renewNow(),
      pinCommandKeys([commandKey, secondCommandKey]) {
        save({ commandKey: commandKey!, secondCommandKey });
        log.info("pinned the command keys", { commandKey, secondCommandKey });
      },
    },
  };
  const { separated } = options;
  const work = separated ? openWorkers({ ...workOptions, ...separated }) : openWork(workOptions);
  const { journal } = work;
  const hello = (sessions: Hello["sessions"]): Hello => ({
    protocol: protocolVersion,
    machineId: state.machineId,
    journalId: journal.id,
    bootId,
    facts: facts.current(),
    sessions,
    dialled: serverUrl,
  });
  const withIds = (status: LinkStatus): HostStatus => ({
    ...status,
    instanceId,
    bootId,
    addressProblem: mover?.problem() ?? null,
  });
  const link = startLink({
    serverUrl,
    instanceId,
    key,
    token,
    commandKeys,
    saveToken(fresh) {
      token = fresh;
      try {
        // The present address has worked for a while, so the one before it is no longer needed.
        save({ token, formerServerUrl: undefined });
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
    answer: work.answer,
    onWelcome(welcome, { sessions }) {
      journal.log.welcome(welcome.sessions, sessions);
      mover?.announced(welcome.serverUrl);
    },
    onOnline() {
      work.online();
      void installs?.provideOpencode();
    },
    onForget() {
      state.forgetCredentials();
      // Nobody will ask for the agents' work any more.
      void close({ endsAgents: true }).then(() => options.onForget?.());
    },
    onStatus(status) {
      if (status.state !== "online") work.offline?.();
      options.onStatus?.(withIds(status));
    },
  });
  const { onMoved } = options;
  const mover =
    onMoved &&
    startMover({
      key,
      credentials: () => kept,
      save,
      commandKeys,
      isOnline: () => link.isOnline(),
      isBusy: () => operations.list().some(({ state }) => state === "running"),
      onProblem() {
        options.onStatus?.(withIds(link.status()));
        refreshFacts();
      },
      onMoved,
      log,
    });
  refreshFacts();

  async function close(ending?: { endsAgents: boolean }): Promise<void> {
    await mover?.stop();
    await installs?.stop();
    await work.close(ending);
  }

  return {
    status: () => withIds(link.status()),
    journal,
    appendEntry: (sessionId, update, turnId) => journal.log.append(sessionId, update, turnId),
    async handOver() {
      await mover?.stop();
      const release = await link.handOver();
      await close();
      return release;
    },
    async stop() {
      await mover?.stop();
      await link.stop();
      await close();
    },
  };
}
