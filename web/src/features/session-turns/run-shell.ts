// Runs a line in the shell of a session. What it prints is in the session's log.
import { call } from "../../calls/call.ts";

export async function runShell(sessionId: string, command: string): Promise<void> {
  await call("run_shell", { sessionId, command }, { idempotencyKey: crypto.randomUUID() });
}
