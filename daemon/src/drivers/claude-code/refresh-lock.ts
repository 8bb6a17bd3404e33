// The lock that Claude Code holds while it refreshes its login. The issuer replaces the refresh token before
// Claude Code has stored the new one, so a process that is ended in between loses the login.
import { statSync } from "node:fs";
import { join } from "node:path";
import { pause } from "../../pause.ts";

/** A daemon that stops has 20 seconds in all. */
const patienceMs = 15_000;
/** Claude Code renews its lock every 5 seconds. A killed process leaves its lock behind. */
const abandonedMs = 15_000;

/**
 * Resolves when no process refreshes the login in this home, or after 15 seconds. Call it before ending a
 * process of Claude Code.
 */
export async function untilRefreshed(home: string): Promise<void> {
  const deadline = AbortSignal.timeout(patienceMs);
  while (!deadline.aborted && isRefreshing(home)) await pause(20, deadline);
}

export function isRefreshing(home: string): boolean {
  const lock = statSync(join(home, ".oauth_refresh.lock"), { throwIfNoEntry: false });
  // The clock may have been set back since.
  return lock !== undefined && Math.abs(Date.now() - lock.mtimeMs) < abandonedMs;
}
