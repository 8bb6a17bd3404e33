// The lock that Claude Code holds while it refreshes its login. The issuer replaces the refresh token before
// Claude Code has stored the new one, so a process that is ended in between loses the login.
import { statSync } from "node:fs";
import { join } from "node:path";
import { pause } from "../../pause.ts";

const patienceMs = 30_000;
/** Claude Code renews its lock every 5 seconds. A killed process leaves its lock behind. */
const abandonedMs = 15_000;

/**
 * Resolves when no process refreshes the login in this home, or after 30 seconds. Call it before ending a
 * process of Claude Code.
 */
export async function untilRefreshed(home: string): Promise<void> {
  const lock = join(home, ".oauth_refresh.lock");
  const deadline = AbortSignal.timeout(patienceMs);
  while (!deadline.aborted && isHeld(lock)) await pause(20, deadline);
}

function isHeld(lock: string): boolean {
  const found = statSync(lock, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs < abandonedMs;
}
