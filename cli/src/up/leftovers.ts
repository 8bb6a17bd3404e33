// Processes of a `hawser up` that was killed. Each was told to stop by its keeper, and may need a moment. The
// next start waits for them, because they have the ports and the data.
import { setTimeout as pause } from "node:timers/promises";
import { signalProcess } from "@hawser/daemon/signal-process.ts";
import { isRunning, readRunState } from "./run-state.ts";

const patienceMs = 20_000;

/** Call this while the lock is held. Signals only processes whose time of start was recorded. */
export async function awaitLeftovers(dataDirectory: string, waitMs = patienceMs): Promise<void> {
  const left = (readRunState(dataDirectory)?.parts ?? []).filter(isRunning);
  const deadline = Date.now() + waitMs;
  while (left.some(isRunning)) {
    const isLate = Date.now() > deadline;
    for (const part of left) if (isLate && isRunning(part)) signalProcess(part.pid, "SIGKILL");
    await pause(20);
  }
}
