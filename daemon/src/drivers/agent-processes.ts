// Processes that agents of this daemon's user left or have: each carries the id of the start it belongs to
// in its environment, and so does whatever it starts in turn.
import { readFileSync, readdirSync, readlinkSync, statSync } from "node:fs";

export interface AgentProcess {
  pid: number;
  /** HAWSER_AGENT. */
  startId: string;
  /** HAWSER_SESSION, where it is an agent's that serves one session only, or was started by it. */
  sessionId: string | null;
  /** Null when it cannot be read. */
  directory: string | null;
}

/** Nothing on systems without /proc. */
export function listAgentProcesses(): AgentProcess[] {
  const own = process.getuid?.();
  let pids: string[];
  try {
    pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
  return pids.flatMap((name) => {
    const pid = Number(name);
    if (statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid !== own) return [];
    const startId = variableOf(pid, "HAWSER_AGENT");
    if (startId === undefined) return [];
    const sessionId = variableOf(pid, "HAWSER_SESSION") ?? null;
    return [{ pid, startId, sessionId, directory: directoryOf(pid) }];
  });
}

/** The start a process belongs to; nothing when it is gone, or was never an agent's. */
export const startIdOf = (pid: number): string | undefined => variableOf(pid, "HAWSER_AGENT");

/** A process that has ended and waits for its parent has no environment any more. */
function variableOf(pid: number, name: string): string | undefined {
  let environment: string;
  try {
    environment = readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return undefined;
  }
  const entry = environment.split("\0").find((line) => line.startsWith(`${name}=`));
  return entry?.slice(name.length + 1);
}

function directoryOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}
