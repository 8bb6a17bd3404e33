// A host whose agents run as Unix users of their own: installed by root with the real installer, and removed with
// its users. Needs root.
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { AgentKind } from "@hawser/contract";
import { giveProgram } from "./agent-programs.ts";
import type { Calls } from "./caller.ts";
import { createRepository } from "./git-repository.ts";
import { untilStatus } from "./host.ts";
import { endProcesses, listProcesses } from "./processes.ts";
import { removeDirectory } from "./remove-directory.ts";

export interface SeparatedHost extends AsyncDisposable {
  instanceId: string;
  /** The user of the front. Those of people are `<name>-1`, `<name>-2` … */
  name: string;
  /** The user of agents with the host's own logins. */
  own: string;
  /** The front's directory. */
  directory: string;
  /** A directory in which all these users may work, with a repository. */
  root: string;
  repository: string;
  /** What the installer printed. */
  output: string;
  /** Runs an installer again, by default the same one. Returns what it printed. */
  installAgain(people: number, installCommand?: string): Promise<string>;
  /** Runs a shell command as one of the users. */
  runAs(user: string, command: string): { code: number | null; output: string };
  /** Pids of a user's processes, with their command lines. */
  processesOf(user: string): { pid: number; command: string }[];
  homeOf(user: string): string;
  /** The front's status file; `pid` is the process that serves. */
  status(): { pid: number; version: string; state: string };
  /** Pids of a user's workers. */
  workersOf(user: string): number[];
}

export interface SeparatedOptions {
  caller: Calls;
  people?: number;
  kinds?: readonly AgentKind[];
  environment?: Record<string, string>;
  /** Where the host reaches the control plane, if not at its own address. */
  serverUrl?: string | undefined;
}

export async function installSeparatedHost(options: SeparatedOptions): Promise<SeparatedHost> {
  const { caller, people = 2, kinds = [], environment = {} } = options;
  await using parts = new AsyncDisposableStack();
  const name = `hwt${randomBytes(3).toString("hex")}`;
  const own = `${name}-own`;
  const directory = `/var/lib/${name}`;
  let mostPeople = people;
  const users = () => [
    name,
    own,
    ...Array.from({ length: mostPeople }, (_, i) => `${name}-${i + 1}`),
  ];
  parts.defer(() => {
    for (const user of users()) spawnSync("userdel", [user]);
    for (const place of [directory, `${directory}-users`, `/etc/sudoers.d/${name}`])
      rmSync(place, { recursive: true, force: true });
  });
  const work = mkdtempSync(join(tmpdir(), "hawser-separated-"));
  parts.defer(() => removeDirectory(work));
  chmodSync(work, 0o755);
  const ownHome = join(work, "home");
  run("useradd", "--create-home", "--home-dir", ownHome, "--shell", "/bin/sh", own);
  chmodSync(ownHome, 0o700);
  parts.defer(() => endProcesses(() => listProcesses().filter(({ pid }) => isOf(pid))));
  const isOf = (pid: number, only = users()) => only.includes(userOf(pid) ?? "");

  const root = join(work, "projects");
  mkdirSync(root);
  const repository = createRepository(join(root, "widget"));
  const { instance, installCommand } = await caller.create_instance({ name });
  const [address] = /https?:[^ ]+(?=\/install\.sh)/.exec(installCommand)!;
  async function install(count: number, command = installCommand): Promise<string> {
    const download = command.replace(
      "/install.sh |",
      `/install.sh | sed 's#${address}#${options.serverUrl ?? address}#' |`,
    );
    const asked = ["--separate", own, "--people", String(count), "--name", name, "--root", root];
    const printed = await runInstaller(`${download} -s -- ${asked.join(" ")}`, environment);
    mostPeople = Math.max(mostPeople, count);
    return printed;
  }
  const output = await install(people);
  // They belong to root, because they are links to files that other tests use.
  for (const kind of kinds) await giveProgram(directory, kind);
  const { instanceId } = instance;
  await untilStatus(caller, instanceId, "online");
  const processesOf = (user: string) => listProcesses().filter(({ pid }) => isOf(pid, [user]));
  const owned = parts.move();
  return {
    instanceId,
    name,
    own,
    directory,
    root,
    repository,
    output,
    installAgain: install,
    runAs(user, command) {
      const ran = spawnSync("runuser", ["-u", user, "--", "sh", "-c", command], {
        encoding: "utf8",
        cwd: "/",
        timeout: 20_000,
      });
      return { code: ran.status, output: ran.stdout + ran.stderr };
    },
    processesOf,
    status: () =>
      JSON.parse(readFileSync(join(directory, "status.json"), "utf8")) as ReturnType<
        SeparatedHost["status"]
      >,
    workersOf: (user) =>
      processesOf(user)
        .filter(({ command }) => command.includes(" work --state "))
        .map(({ pid }) => pid),
    homeOf: (user) => run("getent", "passwd", user).split(":")[5]!,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Returns what it printed. This process may be a part of the way to the control plane, so it must not block. */
async function runInstaller(command: string, environment: Record<string, string>): Promise<string> {
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", ...environment };
  try {
    const { stdout, stderr } = await execute("sh", ["-c", command], { env, timeout: 60_000 });
    return stdout + stderr;
  } catch (cause) {
    const { stdout = "", stderr = "" } = cause as { stdout?: string; stderr?: string };
    throw new Error(`The installer failed: ${stdout}${stderr}`, { cause });
  }
}

const execute = promisify(execFile);

function userOf(pid: number): string | undefined {
  try {
    const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]!;
    return names.get(uid) ?? remember(uid);
  } catch {
    return undefined;
  }
}

const names = new Map<string, string>();

function remember(uid: string): string {
  const name = spawnSync("id", ["-nu", uid], { encoding: "utf8" }).stdout.trim();
  names.set(uid, name);
  return name;
}

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { encoding: "utf8" });
}
