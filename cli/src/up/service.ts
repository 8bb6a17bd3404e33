// `hawser up --service`: a service of the user's own systemd that runs `hawser up`, also after a reboot.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { enableLinger, hasUserManager } from "@hawser/daemon/service/systemd.ts";
import { CommandFailed } from "../command-failed.ts";
import { readSettings, writeSettings } from "../settings.ts";
import { openDataDirectory, refuseRoot } from "./data-directory.ts";
import { partEnvironment, nodeSettings } from "./environment.ts";
import { applyOptions, type UpOptions } from "./options.ts";
import { runningUp } from "./run-state.ts";
import { lastLines } from "./supervise.ts";

const unit = "hawser.service";
const patienceMs = 180_000;
const commandMs = 30_000;
const unitPath = () => join(homedir(), ".config/systemd/user", unit);

/** Writes, enables and starts the unit, and waits until the service is ready. */
export async function installService(data: string, options: UpOptions): Promise<void> {
  refuseRoot();
  openDataDirectory(data);
  // The service reads them from there, so that no password is in its arguments.
  writeSettings(data, applyOptions(readSettings(data), options));
  const program = process.argv[1]!;
  if (/[/\\]_npx[/\\]/.test(program)) {
    throw new CommandFailed(
      "npx keeps its packages in a cache that npm empties, so a service cannot run from there. Install the package first (npm install --global hawser), then run: hawser up --service",
    );
  }
  if (!hasUserManager()) {
    throw new CommandFailed(
      "There is no systemd for this user, so no service can be made. Run hawser up in a terminal, or have your own service manager run: hawser up --yes",
    );
  }
  const running = runningUp(data);
  if (running && !isInstalled()) {
    throw new CommandFailed(
      `Hawser already runs, as process ${running.pid}. Stop it (hawser down), then run hawser up --service again.`,
    );
  }
  mkdirSync(dirname(unitPath()), { recursive: true });
  writeFileSync(unitPath(), unitText([process.execPath, program, ...argumentsOf(data, options)]), {
    mode: 0o600,
  });
  must("daemon-reload");
  must("enable", unit);
  must("restart", unit);
  console.log("Starting the service …");
  await untilReady(data);
  const { url } = readSettings(data);
  console.log(
    `Hawser is ready at ${url}. systemd keeps it running: systemctl --user status hawser`,
  );
  if (!enableLinger()) {
    console.log(
      "It ends when you log out, until an administrator runs: loginctl enable-linger $USER",
    );
  }
  console.log("To stop it: hawser down. To remove the service: hawser down --service");
}

const isInstalled = () => existsSync(unitPath());

/** The arguments for the service: those of this call, without questions. */
export function argumentsOf(data: string, options: UpOptions): string[] {
  const named = {
    listen: options.listen,
    url: options.url,
  };
  return [
    "up",
    "--yes",
    "--data",
    data,
    ...Object.entries(named).flatMap(([name, value]) => (value ? [`--${name}`, value] : [])),
    ...options.root.flatMap((root) => ["--root", root]),
    ...(options.host ? [] : ["--no-host"]),
  ];
}

export function unitText(words: readonly string[]): string {
  // Secrets stay out: of the environment, only what the parts get is written down.
  const environment = { ...partEnvironment(), ...nodeSettings() };
  const lines = Object.entries(environment)
    // A line break would add a line to the unit.
    .filter(([, value]) => !/\p{Cc}/u.test(value))
    .filter(([name]) => !/^(?:HOME|USER|LOGNAME|SHELL|XDG_RUNTIME_DIR|DBUS_)/.test(name))
    .map(([name, value]) => `Environment=${quote(`${name}=${value}`)}`);
  const odd = words.find((word) => /\p{Cc}/u.test(word));
  if (odd !== undefined) {
    throw new CommandFailed(`${odd} contains a control character, which a service cannot have.`);
  }
  return `# Written by hawser up --service; hawser down --service removes it.
[Unit]
Description=Hawser
StartLimitIntervalSec=0

[Service]
ExecStart=${words.map((word) => quote(word).replaceAll("$", "$$$$")).join(" ")}
${lines.join("\n")}
Restart=on-failure
RestartSec=5
# systemd signals only hawser up, which stops its parts in order. Agents keep running.
KillMode=process
TimeoutStopSec=120

[Install]
WantedBy=default.target
`;
}

/** As systemd reads it: a percent sign has a meaning of its own, and in commands a dollar sign, too. */
const quote = (text: string) => `"${text.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;

async function untilReady(data: string): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!runningUp(data)?.isReady) {
    if (Date.now() > deadline || systemctl("is-failed", unit).ok) {
      const lines = lastLines(join(data, "log/up.log"), 5).map((line) => `\n  ${line}`);
      throw new CommandFailed(
        `The service did not get ready. The end of its log:${lines.join("")}`,
      );
    }
    await pause(200);
  }
}

/** Returns a sentence. */
export function removeService(): string {
  if (!isInstalled()) return "There is no service of hawser up.";
  if (!readFileSync(unitPath(), "utf8").startsWith("# Written by hawser up")) {
    throw new CommandFailed(`${unitPath()} was not written by hawser. Remove it yourself.`);
  }
  systemctl("disable", "--now", unit);
  rmSync(unitPath(), { force: true });
  systemctl("daemon-reload");
  systemctl("reset-failed", unit);
  return "The service is removed. The data stays.";
}

function must(...args: string[]): void {
  const { ok, output } = systemctl(...args);
  if (!ok) throw new CommandFailed(`systemctl --user ${args.join(" ")} failed: ${output}`);
}

function systemctl(...args: string[]): { ok: boolean; output: string } {
  // A session of cron, for example, does not know the address of the user's systemd.
  const place = `/run/user/${process.getuid?.()}`;
  const more =
    process.env["XDG_RUNTIME_DIR"] || !existsSync(place) ? {} : { XDG_RUNTIME_DIR: place };
  const { status, stdout, stderr, error } = spawnSync(
    "systemctl",
    ["--user", "--no-ask-password", ...args],
    { encoding: "utf8", timeout: commandMs, env: partEnvironment(more) },
  );
  return { ok: status === 0, output: error?.message ?? `${stdout}${stderr}`.trim() };
}
