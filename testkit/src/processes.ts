// The machine's processes, read from /proc: finding those that a test has started, directly or through a
// daemon or an agent, and ending them.
import { readFileSync, readdirSync, readlinkSync } from "node:fs";

export interface RunningProcess {
  pid: number;
  /** The command line, with spaces between its words. */
  command: string;
  /** Each as NAME=value. */
  environment: string[];
  /** Path of its executable file. */
  program: string;
  workingDirectory: string;
}

const patienceMs = 10_000;

/** Every process but this one. Leaves out those that have ended or belong to another user. */
export function listProcesses(): RunningProcess[] {
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!pid || pid === process.pid) return [];
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return [
        {
          pid,
          command: words.join(" ").trim(),
          environment: readFileSync(`/proc/${pid}/environ`, "utf8").split("\0"),
          program: readlinkSync(`/proc/${pid}/exe`),
          workingDirectory: readlinkSync(`/proc/${pid}/cwd`),
        },
      ];
    } catch {
      return [];
    }
  });
}

/** Ids of the running children of a process. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}

/** The processes whose command line, environment or working directory names this directory. */
export function processesIn(directory: string): RunningProcess[] {
  return listProcesses().filter(({ command, environment, workingDirectory }) =>
    [command, workingDirectory, ...environment].some((text) => text.includes(directory)),
  );
}

/**
 * Kills every process that `list` returns, and again until it returns none. Blocks until they have ended,
 * so that a synchronous disposer can call it. Throws if one is left after ten seconds.
 */
export function endProcesses(list: () => RunningProcess[]): void {
  const deadline = Date.now() + patienceMs;
  for (let found = list(); found.length > 0; found = list()) {
    for (const { pid } of found) killProcess(pid);
    while (!found.every(({ pid }) => hasEnded(pid))) {
      if (Date.now() > deadline) {
        const left = found.map(({ pid, command }) => `${pid} ${command}`).join("\n");
        throw new Error(`These processes were killed and still run:\n${left}`);
      }
      pause();
    }
  }
}

/** No-op if the process has ended. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}

/** Stops a process until it gets SIGCONT. Blocks until it runs no more: a signal takes effect later. */
export function freezeProcess(pid: number): void {
  const deadline = Date.now() + patienceMs;
  process.kill(pid, "SIGSTOP");
  while (!hasOnlyThreads(pid, "TZX")) {
    if (Date.now() > deadline) throw new Error(`Process ${pid} was stopped and still runs.`);
    pause();
  }
}

/** A process that waits for its parent to collect it has ended, once all its threads have. */
function hasEnded(pid: number): boolean {
  return hasOnlyThreads(pid, "ZX");
}

/** Whether all threads of a process are in one of these states, as /proc names them. */
function hasOnlyThreads(pid: number, states: string): boolean {
  const inState = new RegExp(`^State:\\s+[${states}]`, "m");
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) =>
      inState.test(readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8")),
    );
  } catch {
    return true;
  }
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
}
