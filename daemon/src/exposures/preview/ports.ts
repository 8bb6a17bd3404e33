// The loopback ports of one session: those on which only its processes listen. A port that another process takes
// over, or shares, is not the session's any more.
import { readlinkSync } from "node:fs";
import { basename } from "node:path";
import {
  findAgentProcess,
  listAgentProcesses,
  type AgentProcess,
} from "../../drivers/agent-processes.ts";
import { inodeAt, listListeners, socketsOf, type Listener } from "../../drivers/port-owner.ts";

export interface SessionPort {
  port: number;
  /** Name of the program that listens; null if it cannot be read. */
  program: string | null;
}

export interface SessionPorts {
  /** Loopback addresses at which the session's server can be reached. Empty if the port is not the session's. */
  hostsOf(port: number): string[];
  /** In order. */
  list(): SessionPort[];
}

/** A process of the session, and its descriptor of a socket. */
interface Holder {
  pid: number;
  path: string;
}

const mostListed = 100;
/** How long it is remembered that a socket is not the session's: at least, and in durations of the look. */
const refusedMs = 1_000;
const refusedLooks = 20;

export function createSessionPorts(
  isOwn: (found: AgentProcess) => boolean,
  now: () => number = performance.now.bind(performance),
): SessionPorts {
  /** Holders by inode, as found last: looking at all processes takes milliseconds, and on a large host far more. */
  let known = new Map<string, Holder>();
  /** The socket that was refused last. A page that asks again and again must not hold up the daemon. */
  let refused: { inode: string; until: number } | undefined;

  /** Sockets that processes of this session have, and no process of another session or agent. */
  function findHolders(): Map<string, Holder> {
    const held = new Map<string, Holder>();
    const foreign = new Set<string>();
    for (const found of listAgentProcesses()) {
      const isOurs = isOwn(found);
      for (const [inode, path] of socketsOf(found.pid)) {
        if (isOurs) held.set(inode, { pid: found.pid, path });
        else foreign.add(inode);
      }
    }
    for (const inode of foreign) held.delete(inode);
    return held;
  }

  function isHeld({ inode }: Listener): boolean {
    const holder = known.get(inode);
    if (holder && inodeAt(holder.path) === inode) {
      const found = findAgentProcess(holder.pid);
      if (found && isOwn(found)) return true;
    }
    const began = now();
    if (refused?.inode === inode && began < refused.until) return false;
    known = findHolders();
    if (known.has(inode)) return true;
    const ended = now();
    const until = ended + Math.max(refusedMs, refusedLooks * (ended - began));
    refused = { inode, until };
    return false;
  }

  return {
    hostsOf(port) {
      const listeners = listListeners().filter((each) => each.port === port);
      if (areShared(listeners) || !listeners.every(isHeld)) return [];
      return [...new Set(listeners.flatMap(({ hosts }) => hosts))];
    },
    list() {
      known = findHolders();
      const byPort = Map.groupBy(listListeners(), ({ port }) => port);
      return [...byPort]
        .filter(([, each]) => !areShared(each) && each.every(({ inode }) => known.has(inode)))
        .sort(([a], [b]) => a - b)
        .slice(0, mostListed)
        .map(([port, [first]]) => ({ port, program: programOf(known.get(first!.inode)!.pid) }));
    },
  };
}

/** Two sockets with the same address share its connections, and another process may add one at any time. */
const areShared = (listeners: readonly Listener[]) =>
  new Set(listeners.map(({ address }) => address)).size < listeners.length;

function programOf(pid: number): string | null {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ""));
  } catch {
    return null;
  }
}
