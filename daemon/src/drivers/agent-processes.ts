// Finds the processes of agents that the daemon's user started. Each has the id of its start in its
// environment, which its child processes inherit.
import { readFileSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { isRefreshing } from "./claude-code/refresh-lock.ts";

export interface AgentProcess {
  pid: number;
  /** HAWSER_AGENT. */
  startId: string;
  /** HAWSER_SESSION. Null for an agent that serves several sessions; its commands have one. */
  sessionId: string | null;
  /** Working directory; null if it cannot be read. */
  directory: string | null;
}

/** Empty on systems without /proc. */
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
    return findAgentProcess(pid) ?? [];
  });
}

/** undefined if the process has ended, belongs to no agent, or to another user. */
export function findAgentProcess(pid: number): AgentProcess | undefined {
  const startId = variableOf(pid, "HAWSER_AGENT");
  if (startId === undefined) return undefined;
  const sessionId = variableOf(pid, "HAWSER_SESSION") ?? null;
  return { pid, startId, sessionId, directory: directoryOf(pid) };
}

/** Start id of a process; undefined if it has ended or belongs to no agent. */
export const startIdOf = (pid: number): string | undefined => variableOf(pid, "HAWSER_AGENT");

/** undefined if the process has ended. */
export function parentOf(pid: number): number | undefined {
  try {
    // The name of the program is in parentheses, and may have any characters.
    const [, parent] = /\) \S (\d+) [^)]*$/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return parent === undefined ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

/**
 * Whether a process may be storing a renewed login, which would be lost if the process were ended now. Only
 * Claude Code says when it renews one.
 */
export function isRenewingLogin(pid: number): boolean {
  const home = variableOf(pid, "HOME");
  const config =
    variableOf(pid, "CLAUDE_CONFIG_DIR") ??
    (home === undefined ? undefined : join(home, ".claude"));
  return config !== undefined && isRefreshing(config);
}

/** undefined if not set, or if the process has ended (a zombie has no environment). */
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
