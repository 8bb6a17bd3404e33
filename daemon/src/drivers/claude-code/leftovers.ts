// Ends processes that belong to an agent, by their pids: its commands run in process groups of their own
// and outlive it.
import { pause } from "../../pause.ts";
import { listAgentProcesses, type AgentProcess } from "../agent-processes.ts";

const graceMs = 1_000;
const patienceMs = 3_000;

/**
 * Resolves when none of them is left, or after a moment. `politely` leaves an agent the time to write down
 * what it has done.
 */
export async function endProcesses(
  isMeant: (found: AgentProcess) => boolean,
  politely = false,
): Promise<void> {
  const deadline = AbortSignal.timeout(patienceMs);
  const askedAt = performance.now();
  const asked = new Set<number>();
  for (;;) {
    const found = listAgentProcesses().filter((one) => one.pid !== process.pid && isMeant(one));
    if (found.length === 0 || deadline.aborted) return;
    const isGrace = politely && performance.now() - askedAt < graceMs;
    for (const { pid } of found) {
      if (!isGrace) send(pid, "SIGKILL");
      else if (!asked.has(pid)) send(pid, "SIGTERM");
      asked.add(pid);
    }
    await pause(20, deadline);
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone by itself.
  }
}
