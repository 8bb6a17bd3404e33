// Whether a port is that of a part. Another user's program may listen at a port in the moment before the part
// does, and must not get the owner's key.
import { existsSync } from "node:fs";
import { listListeners, socketsOf } from "@hawser/daemon/drivers/port-owner.ts";

/** Whether every socket that listens at this port of loopback is the process's own. True on systems without /proc. */
export function ownsPort(pid: number, port: number): boolean {
  if (!existsSync("/proc/net/tcp")) return true;
  const listeners = listListeners().filter((each) => each.port === port);
  const own = socketsOf(pid);
  return listeners.length > 0 && listeners.every(({ inode }) => own.has(inode));
}
