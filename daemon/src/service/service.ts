// Starts and stops the installed daemon: by systemd if this user has one, otherwise as a process of its own
// that outlives the terminal.
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { childEnvironment } from "../environment.ts";
import { runningDaemon } from "../state/running.ts";
import type { State } from "../state/state.ts";
import { programOf } from "./program.ts";
import { enableLinger, hasUserManager, startUnit, stopUnit, unitOf } from "./systemd.ts";

const stopPatienceMs = 30_000;

/** Sentences about how the daemon runs, with what to do, if anything. */
export function startService(state: State): string[] {
  if (!hasUserManager() || unitOf(state) === "another") {
    startDetached(state);
    const user = userInfo().username;
    return [
      `It runs without a service manager. To have it back after a reboot, add this line to the crontab of ${user} (as ${user}: crontab -e; as root: crontab -u ${user} -e):`,
      `  @reboot ${programOf(state)} run --quiet`,
    ];
  }
  startUnit(state);
  const said = ["systemd keeps it running: systemctl --user status hawserd"];
  if (!enableLinger()) {
    said.push(
      "It ends when you log out, until an administrator runs: loginctl enable-linger $USER",
    );
  }
  return said;
}

/** Stops the daemon in its own way; returns whether one ran. Its agents continue. */
export async function stopService(state: State): Promise<boolean> {
  const pid = runningDaemon(state);
  // systemd would restart a daemon that is only signalled.
  if (unitOf(state) === "ours" && hasUserManager()) stopUnit();
  if (pid === undefined) return false;
  const deadline = Date.now() + stopPatienceMs;
  if (runningDaemon(state) === pid) process.kill(pid, "SIGTERM");
  while (runningDaemon(state) === pid) {
    if (Date.now() > deadline) {
      process.kill(pid, "SIGKILL");
      break;
    }
    await pause(50);
  }
  return true;
}

function startDetached(state: State): void {
  const logs = join(state.directory, "log");
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  // The daemon writes its own log; this file has only what it prints if it cannot do that.
  const output = openSync(join(logs, "hawserd.err"), "w", 0o600);
  spawn(programOf(state), ["run", "--quiet"], {
    detached: true,
    cwd: state.directory,
    stdio: ["ignore", output, output],
    env: childEnvironment(),
  }).unref();
  closeSync(output);
}
