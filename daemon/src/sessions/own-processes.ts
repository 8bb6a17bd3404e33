// Which processes a session has started: by shell commands of callers, and by commands of its agent. Their
// environment names the start that they belong to.
import { parentOf, type AgentProcess } from "../drivers/agent-processes.ts";
import type { Session } from "./session.ts";

/** The agent's own program is none of them: it may have a server that only its clients should reach. */
export function isProcessOf(session: Session, found: AgentProcess): boolean {
  if (!session.isUsable) return false;
  const shells = [...session.shells.values()];
  if (shells.some(({ process }) => process.startId === found.startId)) return true;
  if (found.sessionId !== session.id) return false;
  const isLive = session.knownDriver?.liveStarts().includes(found.startId) ?? false;
  // The daemon starts the agent, and the agent starts its commands.
  return isLive && parentOf(found.pid) !== process.pid;
}
