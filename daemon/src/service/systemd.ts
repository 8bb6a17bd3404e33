// The daemon as a service of its user's systemd: started at boot, and restarted whenever it ends.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { childEnvironment } from "../environment.ts";
import { removeIfEmpty } from "../remove-if-empty.ts";
import type { State } from "../state/state.ts";
import { programOf } from "./program.ts";

const unit = "hawserd.service";
const patienceMs = 30_000;

const unitPath = () => join(homedir(), ".config/systemd/user", unit);

export function unitText(state: State): string {
  return `# Written by Hawser's installer; hawserd uninstall removes it.
[Unit]
Description=Hawser daemon
# It is started again however often it ends.
StartLimitIntervalSec=0

[Service]
ExecStart=${programOf(state)} run --quiet
Restart=always
RestartSec=5
# Not paired: starting it again would change nothing.
RestartPreventExitStatus=3
# Only the daemon is ended. Agents live on, and the next daemon finds them again.
KillMode=process
TimeoutStopSec=30

[Install]
WantedBy=default.target
`;
}

/** Whether this user has a systemd that answers. */
export const hasUserManager = () => systemctl("show-environment").ok;

/** Whether the unit is installed, and for which directory. */
export function unitOf(state: State): "none" | "ours" | "another" {
  if (!existsSync(unitPath())) return "none";
  const started = /^ExecStart=(\S+)/m.exec(readFileSync(unitPath(), "utf8"))?.[1];
  return started === programOf(state) ? "ours" : "another";
}

/** Throws an error whose message is a sentence. */
export function startUnit(state: State): void {
  mkdirSync(dirname(unitPath()), { recursive: true });
  writeFileSync(unitPath(), unitText(state));
  must("daemon-reload");
  must("enable", unit);
  must("restart", unit);
}

export const stopUnit = () => must("stop", unit);

export function removeUnit(): void {
  systemctl("disable", "--now", unit);
  rmSync(unitPath(), { force: true });
  // Also the directories, if they were made for this and are empty.
  const directory = dirname(unitPath());
  const made = [join(directory, "default.target.wants"), directory, dirname(directory)];
  for (const place of [...made, dirname(dirname(directory))]) removeIfEmpty(place);
  systemctl("daemon-reload");
  systemctl("reset-failed", unit);
}

export const isEnabled = () => systemctl("is-enabled", unit).ok;

/** Whether the user's services continue after logout and start at boot. */
export function hasLinger(): boolean {
  return existsSync(join("/var/lib/systemd/linger", userInfo().username));
}

/** Returns whether that could be switched on; a machine may leave it to its administrator. */
export const enableLinger = () => hasLinger() || call("loginctl", ["enable-linger"]).ok;

function must(...args: string[]): void {
  const { ok, output } = systemctl(...args);
  if (!ok) throw new Error(`systemctl --user ${args.join(" ")} failed: ${output}`);
}

const systemctl = (...args: string[]) =>
  call("systemctl", ["--user", "--no-ask-password", ...args]);

function call(program: string, args: string[]) {
  // A session without a login of its own, such as one of cron, does not know its manager's address.
  const place = `/run/user/${process.getuid?.()}`;
  const more = process.env["XDG_RUNTIME_DIR"] ? {} : { XDG_RUNTIME_DIR: place };
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: "utf8",
    timeout: patienceMs,
    stdio: ["ignore", "pipe", "pipe"],
    env: childEnvironment(existsSync(place) ? more : {}),
  });
  return { ok: status === 0, output: error?.message ?? `${stdout}${stderr}`.trim() };
}
