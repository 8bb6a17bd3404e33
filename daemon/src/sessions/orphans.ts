// Processes that belong to nobody any more: those of an agent whose daemon was killed, and those that an
// agent left running in the worktree of an ended session. Each is ended by its pid, after a second check
// of what it is.
import { readdirSync, readlinkSync, statSync } from "node:fs";
import { isRenewingLogin, startIdOf } from "../drivers/agent-processes.ts";
import { isStartOf } from "../drivers/start-id.ts";
import type { Log } from "../log.ts";
import { pause } from "../pause.ts";
import { signalProcess } from "../signal-process.ts";

export interface OrphansOptions {
  /** The daemon's state directory; the marks of its agents' processes contain it. */
  stateDirectory: string;
  /** Marks (HAWSER_AGENT) of processes that are in use. */
  liveStarts: () => string[];
  /** Says whether a path lies in the tree of an ended or of a parked session; undefined if in neither. */
  placeOf: (realPath: string) => "ended" | "parked" | undefined;
  log: Log;
}

interface Found {
  pid: number;
  reason: string;
}

const graceMs = 2_000;

/** No-op on systems without /proc. */
export async function reapOrphans(options: OrphansOptions): Promise<void> {
  const orphans = findOrphans(options);
  if (orphans.length === 0) return;
  for (const { pid, reason } of orphans) {
    options.log.warn("an orphaned process is ended", { pid, reason });
    signalProcess(pid, "SIGTERM");
  }
  const isLeft = () => {
    const still = new Set(findOrphans(options).map(({ pid }) => pid));
    return orphans.filter(({ pid }) => still.has(pid));
  };
  const deadline = performance.now() + graceMs;
  while (isLeft().length > 0 && performance.now() < deadline) {
    await pause(50, AbortSignal.timeout(graceMs));
  }
  for (const { pid } of isLeft()) signalProcess(pid, "SIGKILL");
}

function findOrphans(options: OrphansOptions): Found[] {
  const live = new Set(options.liveStarts());
  return listOwnPids().flatMap((pid) => {
    const startId = startIdOf(pid);
    const isOurs = startId !== undefined && isStartOf(options.stateDirectory, startId);
    // The next look ends a process that renews a login now.
    if (isOurs && isRenewingLogin(pid)) return [];
    if (isOurs && !live.has(startId)) return [{ pid, reason: "its agent is gone" }];
    const directory = directoryOf(pid);
    const place = directory === undefined ? undefined : options.placeOf(directory);
    // A person may work in a parked tree; an agent may not.
    const isThere = place === "ended" || (place === "parked" && isOurs);
    return isThere ? [{ pid, reason: "its session has ended" }] : [];
  });
}

function listOwnPids(): number[] {
  const own = process.getuid?.();
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return [];
  }
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(
      (pid) =>
        pid !== process.pid &&
        pid !== process.ppid &&
        statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === own,
    );
}

function directoryOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}
