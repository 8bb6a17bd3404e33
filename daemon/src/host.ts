// One host: its journal, its link, its commands and its reports, put together. Nothing here is
// shared between hosts, so that one process can be many of them.
import { randomUUID } from "node:crypto";
import {
  HelloReply,
  nkeyFromSeed,
  protocolVersion,
  type Hello,
  type LogEntry,
} from "@hawser/host-protocol";
import { openCodeHosting, type CodeHosting } from "./code-hosting/code-hosting.ts";
import { openCommands } from "./commands/answer-command.ts";
import { openClones } from "./directories/clone.ts";
import { openDirectories } from "./directories/directories.ts";
import { openHalfDone } from "./directories/half-done.ts";
import { openFacts, type Look } from "./facts.ts";
import { openGit } from "./git/git.ts";
import { openJournal, type Journal, type JournalOptions } from "./journal/journal.ts";
import { startLink, type LinkStatus } from "./link/link.ts";
import { openServerClock, type OwnClock } from "./link/server-clock.ts";
import type { LinkTiming } from "./link/timing.ts";
import { describe, silentLog, type Log } from "./log.ts";
import { openOperations } from "./operations.ts";
import { openPolicy } from "./policy/policy.ts";
import { startReports } from "./reports/send-reports.ts";
import { StateError, type State } from "./state/state.ts";

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
  /** Says good-bye, ends the link and closes the journal. */
  stop: () => Promise<void>;
}

const cleanEveryMs = 3600_000;

/** Throws StateError when the host is not paired, and JournalInUse when it runs already. */
export function startHost(options: HostOptions): Host {
  const { state } = options;
  const log = options.log ?? silentLog;
  const credentials = state.readCredentials();
  if (!credentials) {
    throw new StateError(
      "This host is not paired. Run: hawserd pair --server <address> --token <pairing token>",
    );
  }
  const { instanceId, serverUrl, commandKey } = credentials;
  const bootId = randomUUID();
  const clock = openServerClock(options.clock);
  const journal = openJournal(state.journalPath(instanceId), {
    ...options.journal,
    now: () => Math.round(clock.now()),
  });
  const policy = openPolicy(state.policyPath);
  const operations = openOperations(() => link.factsChanged(), clock.now);
  const codeHosting = options.codeHosting ?? openCodeHosting({});
  const facts = openFacts([...(options.looks ?? []), codeHosting.look], operations, log);

  const directories = openDirectories(policy.read);
  const clones = openClones({
    git: openGit(),
    codeHosting,
    operations,
    halfDone: openHalfDone(state.clonesDirectory, log),
    directories,
  });

  const answer = openCommands({
    instanceId,
    commandKey,
    journal,
    log,
    now: clock.now,
    policy: policy.read,
    operations,
    directories,
    codeHosting,
    clones,
    refreshFacts: facts.refresh,
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
    key: nkeyFromSeed(credentials.seed),
    token: credentials.token,
    saveToken: (token) => state.saveCredentials({ ...credentials, token }),
    clock,
    log,
    ...(options.timing && { timing: options.timing }),
    bootId,
    hello: () => hello(journal.log.positions()),
    facts: facts.current,
    answer,
    onWelcome: (welcome, { sessions }) => journal.log.welcome(welcome.sessions, sessions),
    onOnline: () => reports.hurry(),
    onForget() {
      state.forgetCredentials();
      void close().then(() => options.onForget?.());
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
  journal.log.onAppend(reports.wake);
  void facts.refresh().then(() => link.factsChanged());
  const cleaning = setInterval(() => {
    // By a clock that may be days off, what is still needed would be dropped.
    if (!clock.isKnown()) return;
    try {
      journal.clean();
    } catch (error) {
      log.warn("the journal could not be cleaned", { error: describe(error) });
    }
  }, cleanEveryMs);
  cleaning.unref();

  let closing: Promise<void> | undefined;
  const close = () =>
    (closing ??= (async () => {
      clearInterval(cleaning);
      await clones.stop();
      await reports.stop();
      journal.close();
    })());

  return {
    status: () => withIds(link.status()),
    journal,
    appendEntry: (sessionId, update, turnId) => journal.log.append(sessionId, update, turnId),
    async stop() {
      await link.stop();
      await close();
    },
  };
}
