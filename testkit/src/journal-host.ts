// A host that a test can kill and start again from its disk. The test writes the sessions' logs through the
// daemon's real journal.
import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Caller } from "./caller.ts";
import { openOrders, type Orders } from "./orders.ts";
import { stopProcess } from "./stop-process.ts";
import { nodeEnvironment } from "./node-environment.ts";

type Update = { sessionUpdate: string } & Record<string, unknown>;

export interface JournalOrder {
  append: { sessionId: string; updates: Update[] };
  waiting: object;
}

export interface JournalHost extends AsyncDisposable {
  instanceId: string;
  /** Path of its journal. Another process may open it while the host does not run. */
  journalFile: string;
  /** The times at which it was killed, in milliseconds since 1970. */
  deaths: number[];
  log: string[];
  isAlive(): boolean;
  /** Returns the numbers of the new entries. Throws if the host dies meanwhile: they may be written or not. */
  append(sessionId: string, updates: Update[]): Promise<number[]>;
  /** How many sessions have entries that are not applied yet. */
  waiting(): Promise<number>;
  /** Kills it with SIGKILL. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

const program = fileURLToPath(import.meta.resolve("./journal-host-process.ts"));
const longestStartMs = 30_000;
const keptLines = 5_000;

/** The host connects to `serverUrl`, which may be a proxy. */
export async function startJournalHost(
  caller: Caller,
  serverUrl: string,
  directory: string,
  name: string,
): Promise<JournalHost> {
  const { instance, pairingToken } = await caller.create_instance({ name });
  const { instanceId } = instance;
  const state = join(directory, "state");
  mkdirSync(directory, { recursive: true });
  const log: string[] = [];
  const deaths: number[] = [];
  let [child, orders] = await launch([serverUrl, pairingToken]);

  async function launch(pairing: string[] = []): Promise<[ChildProcess, Orders]> {
    const started = fork(program, [state, ...pairing], {
      env: nodeEnvironment(),
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    createInterface({ input: started.stderr! }).on("line", (line) => {
      log.push(line);
      if (log.length > keptLines) log.shift();
    });
    const opened = openOrders(started);
    const late = setTimeout(() => started.kill("SIGKILL"), longestStartMs);
    await opened.ready
      .catch((cause: unknown) => {
        throw new Error(`The host ${name} did not start.\n${log.slice(-5).join("\n")}`, { cause });
      })
      .finally(() => clearTimeout(late));
    return [started, opened];
  }

  const isAlive = () => child.exitCode === null && child.signalCode === null;

  return {
    instanceId,
    journalFile: join(state, `journal-${instanceId}.sqlite`),
    deaths,
    log,
    isAlive,
    append: (sessionId, updates) => orders.tell("append", { sessionId, updates }),
    waiting: () => orders.tell("waiting"),
    async kill() {
      deaths.push(Date.now());
      await stopProcess(child, "SIGKILL");
    },
    async start() {
      [child, orders] = await launch();
    },
    [Symbol.asyncDispose]: () => stopProcess(child, "SIGKILL"),
  };
}
