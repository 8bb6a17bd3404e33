// The id of one start of an agent, which its process and whatever that starts carry as HAWSER_AGENT. It
// begins with a mark of the daemon's own directory, so that of several daemons of one user each knows
// its own.
import { createHash, randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";

export function makeStartId(stateDirectory: string): string {
  return `${markOf(stateDirectory)}.${randomUUID()}`;
}

export function isStartOf(stateDirectory: string, startId: string): boolean {
  return startId.startsWith(`${markOf(stateDirectory)}.`);
}

function markOf(stateDirectory: string): string {
  return createHash("sha256").update(realpathSync(stateDirectory)).digest("hex").slice(0, 16);
}
