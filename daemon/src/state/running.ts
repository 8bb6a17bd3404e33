// Finds the process of this directory's daemon. A process id alone is not enough: after a crash or a
// reboot it may belong to another process, which `uninstall` would end.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "./replace-file.ts";
import { readJson, type State } from "./state.ts";

/** Called by the process that is to be signalled, which is the supervisor, with the version it serves. */
export function noteRunning(state: State, version: string): void {
  const { pid } = process;
  replaceFile(fileOf(state), { pid, startedAt: startOf(pid), version });
}

/** The process to signal; undefined if none runs. */
export function runningDaemon(state: State): number | undefined {
  return readRunning(state)?.pid;
}

export function readRunning(state: State): { pid: number; version: string } | undefined {
  const noted = readJson(fileOf(state));
  const pid = Number(noted?.["pid"]);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const startedAt = startOf(pid);
  if (startedAt === undefined || startedAt !== noted?.["startedAt"]) return undefined;
  return { pid, version: String(noted["version"]) };
}

const fileOf = (state: State) => join(state.directory, "process.json");

/** The boot and the tick at which a process began: different for two processes with the same id. */
export function startOf(pid: number): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, in brackets, may contain anything; the state follows it, and the start is field 22.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : `${boot} ${fields[19]}`;
  } catch {
    return undefined;
  }
}
