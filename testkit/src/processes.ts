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
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
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

/** A process that waits for its parent to collect it has ended, once all its threads have. */
function hasEnded(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) =>
      /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8")),
    );
  } catch {
    return true;
  }
}
