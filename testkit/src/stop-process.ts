// Ends a child process: with a signal first, and with SIGKILL if it has not ended in time.
import type { ChildProcess } from "node:child_process";

export async function stopProcess(
  child: ChildProcess,
  signal: NodeJS.Signals = "SIGTERM",
  patienceMs = 10_000,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  const force = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  await gone;
  clearTimeout(force);
}
