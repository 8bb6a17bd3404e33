// Which process listens on a loopback port. A port outlives the process that had it: another process may listen
// there later, and must get neither requests nor passwords that were meant for the first.
import { closeSync, openSync, readSync, readdirSync, readlinkSync } from "node:fs";

/** A socket that accepts connections to a loopback address. */
export interface Listener {
  port: number;
  /** Local address as /proc writes it. */
  address: string;
  /** Loopback addresses at which the socket can be reached. */
  hosts: readonly string[];
  /** Identifies the socket. */
  inode: string;
}

const listening = "0A";

/** Local addresses as /proc writes them, on machines with either order of bytes. */
const hostsOf: Record<string, readonly string[]> = {
  "0100007F": ["127.0.0.1"],
  "7F000001": ["127.0.0.1"],
  // 0.0.0.0
  "00000000": ["127.0.0.1"],
  // ::1
  "00000000000000000000000001000000": ["::1"],
  "00000000000000000000000000000001": ["::1"],
  // ::, which accepts IPv4 too, unless the socket or the system says otherwise. Then another process may accept it,
  // so IPv6 comes first.
  "00000000000000000000000000000000": ["::1", "127.0.0.1"],
  // ::ffff:127.0.0.1
  "0000000000000000FFFF00000100007F": ["127.0.0.1"],
  "00000000000000000000FFFF7F000001": ["127.0.0.1"],
  // ::ffff:0.0.0.0
  "0000000000000000FFFF000000000000": ["127.0.0.1"],
  "00000000000000000000FFFF00000000": ["127.0.0.1"],
};

const loopback = new Set(["0100007F", "7F000001"]);

/** Whether this process listens on this port of 127.0.0.1. False on systems without /proc. */
export function isListening(pid: number, port: number): boolean {
  const sockets = listenersIn("/proc/net/tcp").filter(
    (socket) => socket.port === port && loopback.has(socket.address),
  );
  // Two listeners on one port share its connections, and one of them may be another process.
  if (sockets.length !== 1) return false;
  return socketsOf(pid).has(sockets[0]!.inode);
}

/** Sockets that accept connections to 127.0.0.1 or ::1. Empty on systems without /proc. */
export function listListeners(): Listener[] {
  return [...listenersIn("/proc/net/tcp"), ...listenersIn("/proc/net/tcp6")];
}

const buffer = Buffer.alloc(64 * 1024);

function listenersIn(path: string): Listener[] {
  const found: Listener[] = [];
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    // The kernel returns about 30 rows at a time, so each row is read once only.
    let rest = "";
    for (let size; (size = readSync(file, buffer)) > 0;) {
      const rows = (rest + buffer.toString("latin1", 0, size)).split("\n");
      rest = rows.pop()!;
      for (const row of rows) {
        const columns = row.trim().split(/\s+/);
        const [place = "", local = "", , state, , , , , , inode = ""] = columns;
        if (!place.endsWith(":")) continue; // the head of the table
        // Listening sockets come first. The others may be many.
        if (state !== listening) return found;
        const [address = "", port = ""] = local.split(":");
        const hosts = hostsOf[address];
        if (hosts) found.push({ port: Number.parseInt(port, 16), address, hosts, inode });
      }
    }
  } catch {
    // A system without the table has no listeners that could be told apart.
    return [];
  } finally {
    if (file !== undefined) closeSync(file);
  }
  return found;
}

/** The sockets of a process: paths of their descriptors in /proc, by inode. Empty if it has ended or is another user's. */
export function socketsOf(pid: number): Map<string, string> {
  const found = new Map<string, string>();
  let names: string[];
  try {
    names = readdirSync(`/proc/${pid}/fd`);
  } catch {
    return found;
  }
  for (const name of names) {
    const path = `/proc/${pid}/fd/${name}`;
    const inode = inodeAt(path);
    if (inode !== undefined) found.set(inode, path);
  }
  return found;
}

/** The socket of a descriptor in /proc; undefined if it is none, or was closed meanwhile. */
export function inodeAt(path: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(path))?.[1];
  } catch {
    return undefined;
  }
}
