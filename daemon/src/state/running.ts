// Which process is this directory's daemon. A number alone is not enough: after a crash or a reboot
// it may be somebody else's, and `uninstall` would end that one.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readJson, replaceFile, type State } from "./state.ts";

/** Called by the process that is to be signalled, first thing. */
export function noteRunning(state: State): void {
  replaceFile(fileOf(state), { pid: process.pid, startedAt: startOf(process.pid) });
}

/** The daemon's process; nothing when none runs. */
export function runningDaemon(state: State): number | undefined {
  const noted = readJson(fileOf(state));
  const pid = Number(noted?.["pid"]);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const startedAt = startOf(pid);
  return startedAt !== undefined && startedAt === noted?.["startedAt"] ? pid : undefined;
}

const fileOf = (state: State) => join(state.directory, "process.json");

/** The boot, and the tick of it in which a process began; the same for no two processes of a number. */
function startOf(pid: number): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, in brackets, may hold anything; the state comes after it, and the start is field 22.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : `${boot} ${fields[19]}`;
  } catch {
    return undefined;
  }
}
