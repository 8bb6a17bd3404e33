// The work of a host: its journal, its sessions, people's accounts and the commands about them. The link to the
// control plane is somewhere else: in the same process, or in the front of a host whose agents run as several
// Unix users.
import { join } from "node:path";
import type { AgentKind, HostOperation } from "@hawser/contract";
import { createAttachments } from "./attachments/attachments.ts";
import type { BlobLane } from "./blobs/lane.ts";
import { startUploads } from "./blobs/upload-blobs.ts";
import type { CodeHosting } from "./code-hosting/code-hosting.ts";
import { createCommands, type AnswerCommand } from "./commands/answer-command.ts";
import type { CommandContext } from "./commands/command.ts";
import { createClones } from "./directories/clone.ts";
import { createDirectories } from "./directories/directories.ts";
import { createHalfDone } from "./directories/half-done.ts";
import type { Driver } from "./drivers/driver.ts";
import { createExposures } from "./exposures/exposures.ts";
import type { FactReader } from "./facts.ts";
import { createAgentGit } from "./git/agent-git.ts";
import { createGit } from "./git/git.ts";
import { openHomes } from "./identities/homes.ts";
import { createIdentities, type AccountKinds } from "./identities/identities.ts";
import type { Sealing } from "./identities/sealing.ts";
import { openJournal, type Journal, type JournalOptions } from "./journal/journal.ts";
import type { SessionEnd } from "./journal/session-log.ts";
import type { ServerClock } from "./link/server-clock.ts";
import type { Ask } from "./link/up-call.ts";
import { describe, type Log } from "./log.ts";
import type { Operations } from "./operations.ts";
import type { Policy } from "./policy/policy.ts";
import { protectedPaths } from "./policy/protected-paths.ts";
import { startReports } from "./reports/send-reports.ts";
import { openSessions } from "./sessions/sessions.ts";
import type { State } from "./state/state.ts";
import { createCheckouts } from "./worktrees/checkouts.ts";
import { createPushes } from "./worktrees/push.ts";
import { createWorktrees } from "./worktrees/worktrees.ts";

/** What the work needs from the link. */
export interface Uplink {
  ask: Ask;
  /** Sends hello for sessions that the last hello did not name. Returns what the control plane has applied. */
  introduce(sessions: SessionEnd[]): Promise<{ sessionId: string; appliedSeq: number }[]>;
  /** Delivery is not confirmed. */
  publish(sessionId: string, text: object): void;
  /** Since when the host has been linked without a break; undefined if it is not linked. */
  linkedSince(): string | undefined;
  /** Facts or operations of the host have changed. */
  factsChanged(): void;
  /** The control plane has proven that it removed the host. */
  forget(): void;
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

/** The parts that every work needs, whichever process it is in. */
export interface WorkOptions {
  state: State;
  instanceId: string;
  /** Address of the control plane. */
  serverUrl: string;
  /** The control plane's clock. */
  clock: ServerClock;
  uplink: Uplink;
  lane: BlobLane;
  policy: () => Policy;
  operations: Operations;
  codeHosting: CodeHosting;
  /** Opens the secrets that people link. */
  sealing: Sealing;
  findAgent: DriverGiven["findAgent"];
  journal?: JournalOptions;
  /** Makes the drivers of the agents that this host runs; none by default. */
  drivers?: ((given: DriverGiven) => readonly Driver[]) | undefined;
  /** How people's own accounts are used; none by default. */
  accounts?: ((given: DriverGiven) => AccountKinds) | undefined;
  /** Whether sessions work in clones instead of worktrees; default: no. */
  clonesRepositories?: boolean;
  /** How genuine commands are recognized, and what they use beside the work. */
  commands: CommandParts;
  log: Log;
}

export type CommandParts = Pick<
  CommandContext,
  | "bootId"
  | "installs"
  | "refreshFacts"
  | "updates"
  | "forgetCredentials"
  | "renewToken"
  | "pinCommandKeys"
> & {
  hostKey: string;
  commandKeys: () => readonly string[];
};

export interface Work {
  journal: Journal;
  answer: AnswerCommand;
  /** Call it when the host is linked. */
  online(): void;
  /** Call it when the link is lost. */
  offline?(): void;
  /** Facts that only the user of the host's own agents can read; undefined if this process can. */
  readFacts?: FactReader;
  /** What other processes of this host do that takes a while. */
  operations?(): HostOperation[];
  /** Kinds of which a person has linked an account here. */
  linkedKinds(): AgentKind[];
  close(ending?: { endsAgents: boolean }): Promise<void>;
}

const cleanEveryMs = 3600_000;
const restartMs = 20_000;

/** Throws JournalInUse if another process has opened the journal. */
export function openWork(options: WorkOptions): Work {
  const { state, instanceId, clock, uplink, lane, policy, operations, codeHosting, log } = options;
  const journal = openJournal(state.journalPath(instanceId), {
    ...options.journal,
    now: () => Math.round(clock.now()),
  });
  const given = { stateDirectory: state.directory, findAgent: options.findAgent, log };
  const drivers = options.drivers?.(given) ?? [];
  const directories = createDirectories(policy);
  const git = createGit();
  const clones = createClones({
    git,
    codeHosting,
    operations,
    halfDone: createHalfDone(state.clonesDirectory, log),
    directories,
    policy,
  });
  const identities = createIdentities({
    kinds: options.accounts?.(given) ?? {},
    homes: openHomes(state.homesDirectory, instanceId, log),
    sealing: options.sealing,
    policy,
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
    clonesRepositories: options.clonesRepositories ?? false,
    checkouts: createCheckouts({
      git,
      codeHosting,
      operations,
      directory: state.checkoutsDirectory,
      policy,
    }),
    pushes: createPushes({ git, codeHosting }),
    agentGit: createAgentGit(git),
    policy,
    directories,
    publishLive: (sessionId, text) => uplink.publish(sessionId, text),
    now: () => Math.round(clock.now()),
    log,
  });
  const exposures = createExposures({
    serverUrl: options.serverUrl,
    policy,
    journal,
    sessions,
    now: clock.now,
    log,
  });
  const answer = createCommands({
    ...options.commands,
    instanceId,
    journal,
    log,
    now: clock.now,
    policy,
    operations,
    directories,
    codeHosting,
    clones,
    sessions,
    identities,
    exposures,
  });
  const reports = startReports({
    journal,
    log,
    ask: uplink.ask,
    introduce: async (named) => journal.log.welcome(await uplink.introduce(named), named),
    isOnline: () => uplink.linkedSince() !== undefined,
    onForget: () => uplink.forget(),
  });
  const uploads = startUploads({
    blobs: journal.blobs,
    lane,
    linkedSince: () => uplink.linkedSince(),
    onSettled: reports.wake,
    log,
  });
  journal.log.onAppend(reports.wake);
  journal.log.onAppend(uploads.wake);
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

  let closing: Promise<void> | undefined;
  return {
    journal,
    answer,
    linkedKinds: () => identities.linkedKinds(),
    online() {
      reports.hurry();
      uploads.wake();
    },
    close: (ending) =>
      (closing ??= (async () => {
        clearInterval(cleaning);
        await exposures.stop();
        await clones.stop();
        await Promise.all([sessions.close(ending), identities.close()]);
        if (ending?.endsAgents) identities.removeAll();
        await Promise.all([reports.stop(), uploads.stop()]);
        journal.close();
      })()),
  };
}
