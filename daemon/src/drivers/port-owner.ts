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
  // ::, which accepts IPv4 too, unless the socket or the system says otherwise
  "00000000000000000000000000000000": ["127.0.0.1", "::1"],
  // ::ffff:127.0.0.1
  "0000000000000000FFFF00000100007F": ["127.0.0.1"],
  "00000000000000000000FFFF7F000001": ["127.0.0.1"],
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

function listenersIn(path: string): Listener[] {
  return readListening(path)
    .split("\n")
    .flatMap((line) => {
      const columns = line.trim().split(/\s+/);
      const [, local = "", , state] = columns;
      if (state !== listening) return [];
      const [address = "", port = ""] = local.split(":");
      const hosts = hostsOf[address];
      return hosts ? [{ port: Number.parseInt(port, 16), address, hosts, inode: columns[9]! }] : [];
    });
}

const buffer = Buffer.alloc(64 * 1024);
/** A row of a socket in another state. */
const connected = /^ *\d+: [\dA-F]+:[\dA-F]{4} [\dA-F]+:[\dA-F]{4} (?!0A)\S\S /m;

/** The beginning of a table of /proc with all listening sockets, which come first. The others may be many. */
function readListening(path: string): string {
  let file: number | undefined;
  let text = "";
  try {
    file = openSync(path, "r");
    for (let size = -1; size !== 0 && !connected.test(text);) {
      size = readSync(file, buffer);
      text += buffer.toString("latin1", 0, size);
    }
  } catch {
    // A system without the table has no listeners that could be told apart.
    return "";
  } finally {
    if (file !== undefined) closeSync(file);
  }
  return text;
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
