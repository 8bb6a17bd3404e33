// The daemon itself, a child of its supervisor: serves the host until it is stopped, or until another
// version takes over. It does not outlive its supervisor.
import { EventEmitter, once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createCodeHosting } from "./code-hosting/code-hosting.ts";
import { createDirectories } from "./directories/directories.ts";
import { createDirectoryFacts } from "./directories/host-facts.ts";
import { accessOf } from "./drivers/claude-code/access.ts";
import { createClaudeDriver } from "./drivers/claude-code/driver.ts";
import { createClaudeLogin } from "./drivers/claude-code/login.ts";
import { createCodexDriver } from "./drivers/codex/driver.ts";
import { createCodexLogin } from "./drivers/codex/login.ts";
import type { Driver } from "./drivers/driver.ts";
import { createOpencodeDriver } from "./drivers/opencode/driver.ts";
import { makeStartId } from "./drivers/start-id.ts";
import { temporaryIn } from "./drivers/temporary-directories.ts";
import { agentGitEnvironment } from "./git/agent-git.ts";
import { createGit } from "./git/git.ts";
import {
  connectAhead,
  startHost,
  type Ahead,
  type DriverGiven,
  type Host,
  type HostStatus,
} from "./host.ts";
import type { AccountKinds } from "./identities/identities.ts";
import { JournalFull, JournalInUse } from "./journal/journal.ts";
import { describe, type Log } from "./log.ts";
import { createPolicy } from "./policy/policy.ts";
import { protectedPaths } from "./policy/protected-paths.ts";
import { daemonVersion, trustedKeys } from "./release.ts";
import { StateError, type State } from "./state/state.ts";
import { removeUnfinished } from "./supervisor/versions.ts";
import type { Order, Report } from "./supervisor/words.ts";
import { noteServed, readUpdates, type UpdateFailure } from "./updates/record.ts";

const settingsFor = ({ stateDirectory, log }: DriverGiven) => ({
  environment: agentGitEnvironment,
  temporaryDirectory: temporaryIn(stateDirectory),
  newStartId: () => makeStartId(stateDirectory),
  log,
});

/** The kinds of agents that this daemon runs, each with the login and settings of the daemon's user. */
const openDrivers = (given: DriverGiven): Driver[] => {
  const { stateDirectory, findAgent, log } = given;
  const common = settingsFor(given);
  return [
    createOpencodeDriver({
      program: () => findAgent("opencode"),
      stateFile: join(stateDirectory, "opencode-server.json"),
      environment: agentGitEnvironment,
      log,
    }),
    createClaudeDriver({
      ...common,
      program: () => findAgent("claude_code"),
      quotaFile: join(stateDirectory, "quota-claude_code.json"),
    }),
    createCodexDriver({
      ...common,
      program: () => findAgent("codex"),
      home: join(homedir(), ".codex"),
      quotaFile: join(stateDirectory, "quota-codex.json"),
      userHome: homedir(),
      closed: protectedPaths(stateDirectory),
    }),
  ];
};

/** The kinds that people can use with accounts of their own. */
const openAccounts = (given: DriverGiven): AccountKinds => {
  const { stateDirectory, findAgent } = given;
  const common = settingsFor(given);
  const claude = { ...common, program: () => findAgent("claude_code") };
  const codex = { ...common, program: () => findAgent("codex") };
  return {
    claude_code: {
      login: createClaudeLogin(claude),
      credentialsFile: ".credentials.json",
      // Claude Code does not report it.
      lastsDays: 30,
      keepsFormerLogin: false,
      open: ({ home, quotaFile }, access) =>
        createClaudeDriver({
          ...claude,
          quotaFile,
          access: () => accessOf(home, access()),
          environment: { ...common.environment, CLAUDE_CONFIG_DIR: home },
        }),
    },
    codex: {
      login: createCodexLogin(codex),
      credentialsFile: "auth.json",
      lastsDays: null,
      keepsFormerLogin: true,
      open: ({ home, quotaFile }, access) =>
        createCodexDriver({
          ...codex,
          home,
          gateway: () => access().baseUrl ?? undefined,
          quotaFile,
          userHome: homedir(),
          closed: protectedPaths(stateDirectory),
        }),
    },
  };
};

export interface Channel {
  report: (report: Report) => void;
  /** Emits each order of the supervisor under its word. */
  orders: EventEmitter<Record<Order["say"], [Order]>>;
}

/** The channel to the process that started this one. Throws if that is no supervisor. */
export function createChannel(): Channel {
  if (!process.send) throw new StateError("hawserd serve is started by hawserd run.");
  const orders: Channel["orders"] = new EventEmitter();
  process.on("message", (message) => {
    const order = message as Order;
    orders.emit(order.say, order);
  });
  return { report: (report) => void process.send!(report, () => {}), orders };
}

export interface ServeOptions {
  state: State;
  channel: Channel;
  log: Log;
  /** Wait for the order to take over from another daemon. */
  standby: boolean;
  /** Aborted when the daemon is to stop. */
  signal: AbortSignal;
}

/** How long to wait for the journal of a daemon that is stopping. */
const journalMs = 20_000;

export async function serve({ state, channel, log, standby, signal }: ServeOptions): Promise<void> {
  const { report, orders } = channel;
  const forgotten = Promise.withResolvers<"forgotten">();
  // A daemon that is started in standby is the update, so no update has failed.
  let failed: UpdateFailure | undefined = standby ? undefined : readUpdates(state.directory).failed;
  let ahead: Ahead | undefined;
  let letGo: (() => Promise<void>) | undefined;

  orders.on("resume", (order) => {
    if (order.say === "resume") failed = { version: order.version, reason: order.reason };
  });

  /** Resolves with the first of these words, or with "stop" when the daemon is to stop. */
  function nextOrder<Word extends Order["say"]>(...words: Word[]): Promise<Word | "stop"> {
    return Promise.race(
      words.map((word) =>
        once(orders, word, { signal }).then(
          () => word,
          () => "stop" as const,
        ),
      ),
    );
  }

  if (standby) {
    createPolicy(state.policyPath).read();
    ahead = await connectAhead(state, signal);
    const takeOver = nextOrder("take");
    report({ say: "ready" });
    if ((await takeOver) === "stop") return;
  } else {
    removeUnfinished(state.directory);
  }
  for (;;) {
    const host = await begin();
    if (!host) return letGo?.();
    const next = await Promise.race([nextOrder("hand over"), forgotten.promise]);
    if (next === "forgotten") return letGo?.();
    if (next === "stop") {
      await host.stop();
      return;
    }
    log.info("the daemon hands over");
    const decided = nextOrder("resume", "leave");
    letGo = await host.handOver();
    report({ say: "quiet" });
    if ((await decided) !== "resume") return letGo();
    log.info("the daemon resumes");
  }

  /** Starts the host; waits while another daemon has the journal, or the disk has no room. */
  async function begin(): Promise<Host | undefined> {
    const startedAt = performance.now();
    let said = "";
    while (!signal.aborted) {
      try {
        return start();
      } catch (error) {
        const mayWait =
          error instanceof JournalFull ||
          (error instanceof JournalInUse && performance.now() - startedAt < journalMs);
        if (!mayWait) throw error;
        if (error.message !== said) log.warn("waiting for the journal", { error: error.message });
        said = error.message;
        await wait(50);
      }
    }
    return undefined;
  }

  function start(): Host {
    let isOver = false;
    const policy = createPolicy(state.policyPath).read;
    const host = startHost({
      state,
      log,
      factReaders: [createDirectoryFacts(policy, createDirectories(policy), createGit())],
      codeHosting: createCodeHosting(),
      onForget: () => forgotten.resolve("forgotten"),
      supervisor: { startVersion, failed },
      ahead,
      drivers: openDrivers,
      accounts: openAccounts,
      installs: { trustedKeys, platform: `${process.platform}-${process.arch}` },
      onStatus(status) {
        if (!isOver) note(status);
        if (status.state !== "online") return;
        attempt("the version could not be noted", () => noteServed(state.directory, daemonVersion));
        report({ say: "online" });
        // Closes the connection from before a hand-over that failed.
        void letGo?.();
        letGo = undefined;
      },
    });
    ahead = undefined;
    note(host.status());
    return {
      ...host,
      handOver() {
        // From now on the other daemon writes the status.
        isOver = true;
        return host.handOver();
      },
    };
  }

  async function startVersion(version: string): Promise<never> {
    const givenUp = once(orders, "resume");
    report({ say: "start", version });
    await givenUp;
    throw new Error(failed!.reason);
  }

  function note(status: HostStatus): void {
    const pids = { pid: process.pid, supervisorPid: process.ppid };
    attempt("the status could not be written", () =>
      state.writeStatus({ ...status, ...pids, version: daemonVersion }),
    );
  }

  /** On a full disk the daemon continues without these records. */
  function attempt(failure: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      log.warn(failure, { error: describe(error) });
    }
  }
}
