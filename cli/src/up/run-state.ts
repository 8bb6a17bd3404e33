// What a running `hawser up` shows to other commands: its process, and the processes of its parts. The file
// outlives a killed process, so every process id is checked with the time at which the process began.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startOf } from "@hawser/daemon/state/running.ts";

export const partNames = ["postgres", "nats-server", "node", "host"] as const;
export type PartName = (typeof partNames)[number];

export interface RunningProcess {
  pid: number;
  /** Differs between two processes with the same id. */
  startId: string | undefined;
}

export interface PartState extends RunningProcess {
  name: PartName;
  version: string;
  /** When the present process was started. */
  since: string;
  restarts: number;
  isReady: boolean;
}

export interface RunState extends RunningProcess {
  since: string;
  /** Whether everything was started; false while it starts. */
  isReady: boolean;
  url?: string;
  /** Why it has stopped by itself. */
  failure?: string;
  parts: PartState[];
}

const fileOf = (dataDirectory: string) => join(dataDirectory, "status.json");

export const identify = (pid: number): RunningProcess => ({ pid, startId: startOf(pid) });

/** Whether this very process still runs. */
export const isRunning = ({ pid, startId }: RunningProcess): boolean =>
  startId !== undefined && startOf(pid) === startId;

export function writeRunState(dataDirectory: string, state: RunState): void {
  const file = fileOf(dataDirectory);
  writeFileSync(`${file}.next`, `${JSON.stringify(state, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.next`, file);
}

/** The last state that was written; undefined if there is none, or if it is damaged. */
export function readRunState(dataDirectory: string): RunState | undefined {
  const file = fileOf(dataDirectory);
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8")) as RunState;
  } catch {
    return undefined;
  }
}

/** The state of the `hawser up` that runs now; undefined if none does. */
export function runningUp(dataDirectory: string): RunState | undefined {
  const state = readRunState(dataDirectory);
  return state && isRunning(state) ? state : undefined;
}

/** Writes the state again if another program has removed or damaged it: `hawser down` needs it. */
export function keepRunState(
  dataDirectory: string,
  write: () => void,
  everyMs = 10_000,
): Disposable {
  const timer = setInterval(() => {
    if (readRunState(dataDirectory)?.pid !== process.pid) write();
  }, everyMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
