// A host for tests of the session layer: a real journal, real git and real commands, with the scripted
// agent only. A test can stop it at any moment and open it again on the same disk.
import { randomUUID } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copiesOf } from "./copied-repository.ts";
import { removeDirectory } from "./remove-directory.ts";
import { formatId, type SessionUpdate, type UpdateOf } from "@hawser/contract";
import {
  hostCommands,
  makeSigningKey,
  signCommand,
  type CommandOutcome,
  type CommandResultOf,
  type HostCommand,
  type LiveText,
  type LogEntry,
  type PayloadOf,
} from "@hawser/host-protocol";
import { createAttachments } from "@hawser/daemon/attachments/attachments.ts";
import type { BlobLane } from "@hawser/daemon/blobs/lane.ts";
import { createCodeHosting } from "@hawser/daemon/code-hosting/code-hosting.ts";
import { createCommands } from "@hawser/daemon/commands/answer-command.ts";
import { createDirectories } from "@hawser/daemon/directories/directories.ts";
import type { Driver } from "@hawser/daemon/drivers/driver.ts";
import { createScriptedAgent, type ScriptedAgent } from "@hawser/daemon/drivers/scripted/agent.ts";
import {
  createScriptedDriver,
  type ScriptedDriver,
} from "@hawser/daemon/drivers/scripted/driver.ts";
import type { Step } from "@hawser/daemon/drivers/scripted/script.ts";
import { createExposures } from "@hawser/daemon/exposures/exposures.ts";
import type { TunnelTiming } from "@hawser/daemon/exposures/tunnel.ts";
import { createFacts } from "@hawser/daemon/facts.ts";
import { createAgentGit } from "@hawser/daemon/git/agent-git.ts";
import { createGit } from "@hawser/daemon/git/git.ts";
import { openHomes } from "@hawser/daemon/identities/homes.ts";
import { createIdentities, type AccountKinds } from "@hawser/daemon/identities/identities.ts";
import { openSealing } from "@hawser/daemon/identities/sealing.ts";
import { openJournal, type Journal, type JournalOptions } from "@hawser/daemon/journal/journal.ts";
import { silentLog } from "@hawser/daemon/log.ts";
import { createOperations } from "@hawser/daemon/operations.ts";
import { createPolicy } from "@hawser/daemon/policy/policy.ts";
import { protectedPaths } from "@hawser/daemon/policy/protected-paths.ts";
import { createCheckouts } from "@hawser/daemon/worktrees/checkouts.ts";
import { createPushes } from "@hawser/daemon/worktrees/push.ts";
import { createWorktrees } from "@hawser/daemon/worktrees/worktrees.ts";
import { openSessions, type Sessions } from "@hawser/daemon/sessions/sessions.ts";

const key = makeSigningKey();
const instanceId = "ins_small";

export type Entry = LogEntry & { update: SessionUpdate };

export interface SmallHost extends Disposable {
  /** The directory of all its files. */
  directory: string;
  /** A git repository in its only root. */
  repository: string;
  /** A folder beside it, without git. */
  folder: string;
  agent: ScriptedAgent;
  /** Settings that may differ each time it is opened. */
  open(options?: OpenOptions): OpenHost;
}

export interface OpenOptions {
  /** Wraps the journal, to observe or fail its calls. */
  wrapJournal?: (journal: Journal) => Journal;
  wrapDriver?: (driver: ScriptedDriver) => Driver;
  /** How people's accounts are used; by default there are none. */
  accountKinds?: AccountKinds;
  /** Whether sessions work in clones, as those of people on a separated host do; default: no. */
  clonesRepositories?: boolean;
  journal?: JournalOptions;
  /** Environment of git and the code-hosting client; by default this process's, without a client. */
  environment?: NodeJS.ProcessEnv;
  /** Returns an uploaded file's content from the control plane. */
  getBlob?: BlobLane["get"];
  /** Address of the control plane, for tunnels; by default one that does not exist. */
  serverUrl?: string;
  tunnelTiming?: Partial<TunnelTiming>;
  /** The time by the control plane's clock. */
  now?: () => number;
}

export interface OpenHost {
  journal: Journal;
  driver: ScriptedDriver;
  sessions: Sessions;
  published: LiveText[];
  /** Sends a command like the control plane. The same id is the same command. */
  ask<Name extends HostCommand>(
    command: Name,
    payload: PayloadOf<Name>,
    commandId?: string,
  ): Promise<CommandOutcome | undefined>;
  /** Sends a command and returns its result. Throws the refusal. */
  must<Name extends HostCommand>(
    command: Name,
    payload: PayloadOf<Name>,
  ): Promise<CommandResultOf<Name>>;
  entries(sessionId: string): Entry[];
  /** Waits for the first entry of this name that matches. */
  until<Name extends SessionUpdate["sessionUpdate"]>(
    sessionId: string,
    name: Name,
    fits?: (update: UpdateOf<Name>, entry: Entry) => boolean,
  ): Promise<UpdateOf<Name>>;
  /** Closes everything, like a daemon that stops. */
  close(): Promise<void>;
}

/** Long enough for a real agent to start on a busy machine. */
const patienceMs = 30_000;

export const makeSessionId = () => formatId("session", randomUUID());
export const script = (steps: Step[], words = "go") => `${words} @@${JSON.stringify(steps)}`;
export const policy = { allowedCommands: [], outsideWorktree: "ask" as const };

export const wanted = (directory: string, sessionId = makeSessionId()) => ({
  sessionId,
  kind: "opencode" as const,
  directory,
  title: "Fix the bug",
  policy,
});

/** A fork of this session, without a conversation. */
export const wantedFork = (originalId: string) => ({
  sessionId: makeSessionId(),
  originalId,
  kind: "opencode" as const,
  title: "Fix the bug",
  directory: null as string | null,
  conversation: "",
  isCut: false,
  summarize: false,
  policy,
});

/** Starts a session in the host's repository. */
export async function begin(small: SmallHost, options: OpenOptions = {}) {
  const host = small.open(options);
  const asked = wanted(small.repository);
  const started = await host.must("start_session", asked);
  return { host, sessionId: asked.sessionId, started };
}

/** A step of a script that waits for a permission. */
export const asks = (rules: string[], detail = rules.join(" && ")) => ({
  calls: [{ tool: "permission", input: { title: "Run a command", detail, rules } }],
});

export const codeOf = (outcome: CommandOutcome | undefined) =>
  outcome && "refusal" in outcome ? outcome.refusal.code : "done";

export const names = (host: OpenHost, sessionId: string) =>
  host.entries(sessionId).map(({ update }) => update.sessionUpdate);

const makeRepository = copiesOf((directory) => {
  git(directory, "init", "--quiet", "--initial-branch=main");
  git(directory, "config", "user.name", "Ada");
  git(directory, "config", "user.email", "ada@example.com");
  writeFileSync(join(directory, "a.txt"), "one\n");
  git(directory, "add", ".");
  git(directory, "commit", "--quiet", "--message=first");
});

export function makeSmallHost(place = tmpdir()): SmallHost {
  const directory = realpathSync(mkdtempSync(join(place, "hawser-sessions-")));
  const root = join(directory, "root");
  const repository = join(root, "project");
  const folder = join(root, "folder");
  const stateDirectory = join(directory, "state");
  for (const path of [folder, stateDirectory]) mkdirSync(path, { recursive: true });
  makeRepository(repository);
  writeFileSync(join(directory, "policy"), `root = ${root}\n`);
  const agent = createScriptedAgent();
  return {
    directory,
    repository,
    folder,
    agent,
    open: (options = {}) => openHost({ directory, stateDirectory, agent }, options),
    [Symbol.dispose]: () => removeDirectory(directory),
  };
}

export function git(directory: string, ...args: string[]): string {
  return execFileSync("git", ["-C", directory, ...args], { encoding: "utf8" });
}

const asSent = (result: object) => JSON.parse(JSON.stringify(result)) as unknown;

interface Parts {
  directory: string;
  stateDirectory: string;
  agent: ScriptedAgent;
}

function openHost({ directory, stateDirectory, agent }: Parts, options: OpenOptions): OpenHost {
  const real = openJournal(join(stateDirectory, "journal.sqlite"), {
    flush: false,
    ...options.journal,
  });
  const journal = options.wrapJournal?.(real) ?? real;
  const driver = createScriptedDriver(agent);
  const read = createPolicy(join(directory, "policy")).read;
  const directories = createDirectories(read);
  const operations = createOperations(() => {});
  const published: LiveText[] = [];
  const git = createGit(options.environment);
  const codeHosting = createCodeHosting(options.environment ?? {});
  const identities = createIdentities({
    kinds: options.accountKinds ?? {},
    homes: openHomes(join(stateDirectory, "homes"), instanceId),
    sealing: openSealing(join(stateDirectory, "sealing-key.json")),
    policy: read,
    onLinkedAgain: (linked) => sessions.restartDriver(linked, AbortSignal.timeout(patienceMs)),
    onUnlink: (ownerId, kind, linked) =>
      sessions.loseAccount(ownerId, kind, linked, AbortSignal.timeout(patienceMs)),
    now: Date.now,
    log: silentLog,
  });
  const sessions = openSessions({
    journal,
    stateDirectory,
    attachments: createAttachments({
      directory: join(stateDirectory, "attachments"),
      lane: { get: options.getBlob ?? (() => Promise.reject(new Error("None here."))) },
    }),
    drivers: [options.wrapDriver?.(driver) ?? driver],
    identities,
    clonesRepositories: options.clonesRepositories ?? false,
    worktrees: createWorktrees({
      git,
      directory: join(stateDirectory, "worktrees"),
      parkedDirectory: join(stateDirectory, "parked"),
      baselinesDirectory: join(stateDirectory, "baselines"),
      trustedDirectory: join(stateDirectory, "trusted"),
      closedPaths: protectedPaths(stateDirectory, join(directory, "root")).secrets,
      scratchDirectory: join(stateDirectory, "scratch"),
    }),
    checkouts: createCheckouts({
      git,
      codeHosting,
      operations,
      directory: join(stateDirectory, "checkouts"),
      policy: read,
    }),
    pushes: createPushes({ git, codeHosting }),
    agentGit: createAgentGit(git),
    policy: read,
    directories,
    publishLive: (_sessionId, text) => published.push(text),
    now: options.now ?? Date.now,
    log: silentLog,
  });
  const exposures = createExposures({
    serverUrl: options.serverUrl ?? "http://127.0.0.1:1",
    policy: read,
    journal,
    sessions,
    now: options.now ?? Date.now,
    timing: options.tunnelTiming,
    log: silentLog,
  });
  const answer = createCommands({
    instanceId,
    hostKey: "UTEST",
    bootId: randomUUID(),
    commandKeys: () => [key.publicKey],
    journal,
    log: silentLog,
    now: Date.now,
    policy: read,
    operations,
    codeHosting,
    clones: { clone: () => Promise.reject(new Error("None here.")), stop: () => Promise.resolve() },
    directories,
    sessions,
    identities,
    exposures,
    installs: undefined,
    refreshFacts: createFacts([], operations, silentLog).refresh,
    updates: undefined,
    forgetCredentials() {},
    pinCommandKeys() {},
    renewToken() {},
  });

  async function ask(
    command: HostCommand,
    payload: object,
    commandId: string = randomUUID(),
  ): Promise<CommandOutcome | undefined> {
    const signed = signCommand(key.privateKey, {
      instanceId,
      commandId,
      issuedAt: new Date().toISOString(),
      body: {
        command,
        deadlineAt: new Date(Date.now() + 2 * patienceMs).toISOString(),
        actor: { type: "user", id: "usr_ada" },
        payload: payload as Record<string, unknown>,
      },
    });
    const outcome = (await answer(Buffer.from(JSON.stringify(signed))))?.reply.outcome;
    // A daemon sends exactly what is declared. The control plane ignores anything else, and would hide it.
    if (outcome && "result" in outcome) hostCommands[command].result.parse(asSent(outcome.result));
    return outcome;
  }

  const entries = (sessionId: string) => {
    real.log.introduce(sessionId);
    const [batch] = real.log.unapplied({ bytes: 1e9, entries: 1e6 }, sessionId);
    return (batch?.entries ?? []) as Entry[];
  };

  return {
    journal,
    driver,
    sessions,
    published,
    ask,
    async must(command, payload) {
      const outcome = await ask(command, payload);
      if (outcome && "result" in outcome) return outcome.result as never;
      throw new Error(JSON.stringify(outcome));
    },
    entries,
    async until(sessionId, name, fits = () => true) {
      const deadline = performance.now() + patienceMs;
      while (performance.now() < deadline) {
        const found = entries(sessionId).find(
          (entry) => entry.update.sessionUpdate === name && fits(entry.update as never, entry),
        );
        if (found) return found.update as never;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      const names = entries(sessionId).map(({ update }) => update.sessionUpdate);
      throw new Error(`There is no such ${name} among ${names.join(", ")}.`);
    },
    async close() {
      await exposures.stop();
      await sessions.close();
      real.close();
    },
  };
}
