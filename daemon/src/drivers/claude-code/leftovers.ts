// Ends the processes that an agent started. Its commands run in their own process groups and survive the
// agent, so each process is found by its environment and killed by its pid.
import { pause } from "../../pause.ts";
import { signalProcess } from "../../signal-process.ts";
import { listAgentProcesses, type AgentProcess } from "../agent-processes.ts";

const graceMs = 1_000;
const deadlineMs = 3_000;

/**
 * Resolves when no matching process is left, or at the deadline. With `gracefully`, processes get SIGTERM
 * and a second to write their transcript before SIGKILL.
 */
export async function endProcesses(
  matches: (found: AgentProcess) => boolean,
  gracefully = false,
): Promise<void> {
  const deadline = AbortSignal.timeout(deadlineMs);
  const startedAt = performance.now();
  const signalled = new Set<number>();
  for (;;) {
    const found = listAgentProcesses().filter((one) => one.pid !== process.pid && matches(one));
    if (found.length === 0 || deadline.aborted) return;
    const isGrace = gracefully && performance.now() - startedAt < graceMs;
    for (const { pid } of found) {
      if (!isGrace) signalProcess(pid, "SIGKILL");
      else if (!signalled.has(pid)) signalProcess(pid, "SIGTERM");
      signalled.add(pid);
    }
    await pause(20, deadline);
  }
}
