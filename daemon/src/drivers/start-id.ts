// The id of one start of an agent. The agent's process and its child processes have it in their environment
// as HAWSER_AGENT. It begins with a hash of the daemon's state directory, so that several daemons of one
// user can tell their processes apart.
import { createHash, randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";

export function makeStartId(stateDirectory: string): string {
  return `${prefixOf(stateDirectory)}.${randomUUID()}`;
}

export function isStartOf(stateDirectory: string, startId: string): boolean {
  return startId.startsWith(`${prefixOf(stateDirectory)}.`);
}

function prefixOf(stateDirectory: string): string {
  return createHash("sha256").update(realpathSync(stateDirectory)).digest("hex").slice(0, 16);
}
