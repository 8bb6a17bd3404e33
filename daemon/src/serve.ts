// The daemon itself, a child of its supervisor: serves the host until it is stopped, or until another
// version takes over. It does not outlive its supervisor.
import { EventEmitter, once } from "node:events";
import { realpathSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { openAccounts, openDrivers } from "./agents.ts";
import { createCodeHosting } from "./code-hosting/code-hosting.ts";
import { createDirectories } from "./directories/directories.ts";
import { createDirectoryFacts } from "./directories/host-facts.ts";
import { createGit } from "./git/git.ts";
import { connectAhead, startHost, type Ahead, type Host, type HostStatus } from "./host.ts";
import { JournalFull, JournalInUse } from "./journal/journal.ts";
import { describe, type Log } from "./log.ts";
import { createPolicy } from "./policy/policy.ts";
import { daemonVersion, trustedKeys } from "./release.ts";
import { reserveDirectories } from "./separation/reserve-directories.ts";
import { readSeparation } from "./separation/separation.ts";
import { tryProgram } from "./separation/worker-process.ts";
import { StateError, type State } from "./state/state.ts";
import { removeUnfinished } from "./supervisor/versions.ts";
import type { Order, Report } from "./supervisor/words.ts";
import { noteServed, readUpdates, type UpdateFailure } from "./updates/record.ts";

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

/** This program, which workers run too. */
const ownProgram = () => [process.execPath, ...process.execArgv, realpathSync(process.argv[1]!)];

/** How long to wait for the journal of a daemon that is stopping. */
const journalMs = 20_000;

export async function serve({ state, channel, log, standby, signal }: ServeOptions): Promise<void> {
  const { report, orders } = channel;
  const forgotten = Promise.withResolvers<"forgotten">();
  // A daemon that is started in standby is the update, so no update has failed.
  let failed: UpdateFailure | undefined = standby ? undefined : readUpdates(state.directory).failed;
  let ahead: Ahead | undefined;
  let letGo: (() => Promise<void>) | undefined;
  let moved = Promise.withResolvers<"moved">();

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
    const separation = readSeparation(state);
    // An update without workers would be worse than none.
    if (separation) await tryProgram(separation.own, ownProgram());
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
    const next = await Promise.race([nextOrder("hand over"), forgotten.promise, moved.promise]);
    if (next === "forgotten") return letGo?.();
    if (next === "stop") {
      await host.stop();
      return;
    }
    if (next === "moved") {
      moved = Promise.withResolvers();
      letGo = await host.handOver();
      continue;
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
    const separation = readSeparation(state);
    // Its workers run the programs that it places, whatever mask this process was started with.
    if (separation) {
      process.umask(0o022);
      void reserveDirectories([separation.own, ...separation.people], log);
    }
    // The front of a separated host sees no directory of its agents. Its workers report the facts about them.
    const ofAgents = {
      factReaders: [createDirectoryFacts(policy, createDirectories(policy), createGit())],
      codeHosting: createCodeHosting(),
    };
    const host = startHost({
      state,
      log,
      ...(separation ? { separated: { separation, program: ownProgram() } } : ofAgents),
      onMoved: () => moved.resolve("moved"),
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
