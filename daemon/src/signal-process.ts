// Signals to processes and process groups, which may have ended already.

/** No-op if the process has ended. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended. Another user's process may have its number now.
  }
}

/** Signals a process that leads a group, and everything in its group. No-op if it did not start, or has ended. */
export function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader !== undefined) signalProcess(-leader, signal);
}
