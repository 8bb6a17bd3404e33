// Which process listens on a loopback port. A port outlives the process that had it: another process may listen
// there later, and must get neither requests nor passwords that were meant for the first.
import { readFileSync, readdirSync, readlinkSync } from "node:fs";

const listening = "0A";
/** 127.0.0.1, as /proc writes it on machines with either order of bytes. */
const loopback = ["0100007F", "7F000001"];

/** Whether this process listens on this port of 127.0.0.1. False on systems without /proc. */
export function isListening(pid: number, port: number): boolean {
  const sockets = socketsOn(port);
  // Two listeners on one port share its connections, and one of them may be another process.
  if (sockets.length !== 1) return false;
  const link = `socket:[${sockets[0]}]`;
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === link);
  } catch {
    return false;
  }
}

/** Inodes of the sockets that accept connections to this port of 127.0.0.1. */
function socketsOn(port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const local = loopback.map((address) => `${address}:${hex}`);
  try {
    return readFileSync("/proc/net/tcp", "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter(([, address = "", , state]) => state === listening && local.includes(address))
      .map((columns) => columns[9]!);
  } catch {
    return [];
  }
}

/** undefined if the descriptor was closed meanwhile. */
function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
