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
  runAs(user: string, command: string): Promise<{ code: number; output: string }>;
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
  // An installation after a removal makes further users. Numbers of users are given again, so they are not kept.
  const users = () =>
    new Map(
      run("getent", "passwd")
        .split("\n")
        .map((line) => line.split(":"))
        .filter(([user]) => user === name || user?.startsWith(`${name}-`))
        .map(([user, , uid]) => [user!, Number(uid)]),
    );
  parts.defer(() => {
    for (const [user, uid] of users()) {
      spawnSync("userdel", [user]);
      rmSync(`/tmp/codex-daemon-${uid}`, { recursive: true, force: true });
    }
    for (const place of [directory, `${directory}-users`, `/etc/sudoers.d/${name}`])
      rmSync(place, { recursive: true, force: true });
  });
  const work = mkdtempSync(join(tmpdir(), "hawser-separated-"));
  parts.defer(() => removeDirectory(work));
  chmodSync(work, 0o755);
  const ownHome = join(work, "home");
  run("useradd", "--create-home", "--home-dir", ownHome, "--shell", "/bin/sh", own);
  chmodSync(ownHome, 0o700);
  parts.defer(() => {
    const uids = new Set(users().values());
    return endProcesses(() => listProcesses().filter(({ pid }) => uids.has(uidOf(pid) ?? -1)));
  });

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
    // As root has it on a machine that is set up with care.
    return runInstaller(`umask 077; ${download} -s -- ${asked.join(" ")}`, environment);
  }
  const output = await install(people);
  // They belong to root, because they are links to files that other tests use.
  for (const kind of kinds) await giveProgram(directory, kind);
  const { instanceId } = instance;
  await untilStatus(caller, instanceId, "online");
  const processesOf = (user: string) => {
    const uid = users().get(user);
    return listProcesses().filter(({ pid }) => uid !== undefined && uidOf(pid) === uid);
  };
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
    async runAs(user, command) {
      const args = ["-u", user, "--", "sh", "-c", command];
      const ran = await execute("runuser", args, { cwd: "/", timeout: 20_000 }).catch(
        (failed: { code: number; stdout: string; stderr: string }) => failed,
      );
      return { code: "code" in ran ? ran.code : 0, output: ran.stdout + ran.stderr };
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

/** Returns what it printed. */
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

/** This process may be a part of the way to the control plane, so it must not block. */
const execute = promisify(execFile);

function uidOf(pid: number): number | undefined {
  try {
    return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
  } catch {
    return undefined;
  }
}

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { encoding: "utf8" });
}
