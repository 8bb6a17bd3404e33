// A user of a fresh machine: an empty home, an unprivileged account if the tests run as root, and on
// request a systemd of the user's own. Everything is removed with the user.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
  rmdirSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endProcesses, listProcesses } from "./processes.ts";
import { removeDirectory } from "./remove-directory.ts";
import { stopProcess } from "./stop-process.ts";
import { until } from "./until.ts";

export const isRoot = process.getuid?.() === 0;

export interface Ran {
  code: number | null;
  output: string;
  /** How many milliseconds before the end of the command its output contained this text. */
  sinceSaid: (text: string) => number;
}

export interface CleanUser extends AsyncDisposable {
  name: string;
  home: string;
  /** Runs a shell command as this user, in the home. Stops it after a minute. */
  run: (line: string, environment?: Record<string, string>) => Promise<Ran>;
  /** Every file in the home, with its type, mode and size. */
  files: () => string[];
  /** The running processes whose program is in the home, as "pid command line". */
  processes: () => string[];
  /** Mounts a disk of this size at a path in the home. Needs root. */
  mountSmallDisk: (
    at: string,
    megabytes: number,
  ) => { resize: (megabytes: number) => void } & Disposable;
}

const path = "/usr/local/bin:/usr/bin:/bin";

export async function makeCleanUser({
  systemd = false,
  shell = "/bin/sh",
} = {}): Promise<CleanUser> {
  await using parts = new AsyncDisposableStack();
  const place = mkdtempSync(join(tmpdir(), "hawser-user-"));
  parts.defer(() => removeDirectory(place));
  chmodSync(place, 0o755);
  const home = join(place, "home");
  const name = isRoot ? `hwt${randomBytes(4).toString("hex")}` : String(process.env["USER"]);
  if (isRoot) {
    must("useradd", "--create-home", "--home-dir", home, "--shell", shell, name);
    const uid = Number(must("id", "-u", name));
    parts.defer(async () => {
      await until(`${name} has no process left`, () => isWithoutProcess(uid), 10_000);
      must("userdel", name);
    });
  } else {
    mkdirSync(home);
  }
  const processes = () => listProcesses().filter(({ program }) => program.startsWith(home));
  const endAll = () => endProcesses(processes);
  parts.defer(endAll);
  const manager = systemd ? parts.use(await startManager(name, home)) : undefined;
  const owned = parts.move();
  return {
    name,
    home,
    files: () => listFiles(home),
    processes: () => processes().map(({ pid, command }) => `${pid} ${command}`),
    mountSmallDisk(at, megabytes) {
      const target = join(home, at);
      const uid = must("id", "-u", name).trim();
      mkdirSync(target);
      must("mount", "-t", "tmpfs", "-o", `size=${megabytes}m,uid=${uid},mode=700`, "tmpfs", target);
      return {
        resize: (to) => void must("mount", "-o", `remount,size=${to}m`, target),
        [Symbol.dispose]() {
          endAll();
          must("umount", "--lazy", target);
        },
      };
    },
    run(line, environment = {}) {
      const given = { PATH: path, HOME: home, USER: name, ...manager?.environment, ...environment };
      const words = ["env", "-i", ...assignments(given), "sh", "-c", `cd && ${line}`];
      const asUser = isRoot ? ["runuser", "-u", name, "--", ...words] : words;
      return runWords(manager ? [...manager.enter, ...asUser] : asUser);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Makes a directory with every program of the machine except these, to be used as PATH. */
export function programsWithout(directory: string, ...missing: string[]): string {
  mkdirSync(directory);
  for (const folder of ["/usr/bin", "/bin"]) {
    for (const name of readdirSync(folder)) {
      const link = join(directory, name);
      if (!missing.includes(name) && !existsSync(link)) symlinkSync(join(folder, name), link);
    }
  }
  return directory;
}

const assignments = (environment: Record<string, string>) =>
  Object.entries(environment).map(([key, value]) => `${key}=${value}`);

async function runWords([program = "", ...args]: string[]): Promise<Ran> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const said: { at: number; length: number }[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      said.push({ at: performance.now(), length: output.length });
    });
  }
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const limit = setTimeout(() => void stopProcess(child), 60_000);
  try {
    const code = await ended;
    const endedAt = performance.now();
    const sinceSaid = (text: string) => {
      const end = output.indexOf(text) + text.length;
      return endedAt - (said.find(({ length }) => length >= end)?.at ?? endedAt);
    };
    return { code, output, sinceSaid };
  } finally {
    clearTimeout(limit);
  }
}

/**
 * Starts a real systemd for the user, in a mount namespace that looks like a machine booted by systemd,
 * and in a control group of its own. Needs root.
 */
async function startManager(name: string, home: string) {
  const uid = must("id", "-u", name).trim();
  const runtime = `/run/user/${uid}`;
  const groups = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].find((directory) =>
    existsSync(join(directory, "cgroup.procs")),
  );
  if (!groups) throw new Error("There is no cgroup2 here, which a systemd needs.");
  const group = join(groups, name);
  mkdirSync(group);
  const environment = { XDG_RUNTIME_DIR: runtime };
  const script = `set -e
    echo $$ > ${group}/cgroup.procs && chown -R ${name} ${group}
    mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system ${runtime}
    chown ${name} ${runtime} && chmod 700 ${runtime}
    mount -t tmpfs tmpfs /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
    exec setpriv --reuid ${uid} --regid ${uid} --clear-groups --pdeathsig TERM \\
      env -i HOME=${home} USER=${name} PATH=${path} XDG_RUNTIME_DIR=${runtime} /lib/systemd/systemd --user`;
  const child: ChildProcess = spawn("unshare", ["--mount", "sh", "-c", script], {
    stdio: "ignore",
  });
  const enter = ["nsenter", "--target", String(child.pid), "--mount"];
  const ask = ["runuser", "-u", name, "--", "env", `XDG_RUNTIME_DIR=${runtime}`];
  const deadline = Date.now() + 20_000;
  for (;;) {
    const answer = await runWords([...enter, ...ask, "systemctl", "--user", "show-environment"]);
    if (answer.code === 0) break;
    if (Date.now() > deadline) {
      await stopProcess(child);
      throw new Error(`The user's systemd did not start: ${answer.output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    environment,
    enter,
    async [Symbol.asyncDispose]() {
      await stopProcess(child);
      for (const part of [...subgroups(group), group]) rmdirSync(part);
    },
  };
}

/** All groups below this one, the innermost first. */
function subgroups(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => [...subgroups(join(directory, name)), join(directory, name)]);
}

function listFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .sort()
    .map((file) => {
      const found = lstatSync(join(directory, file));
      const size = found.isFile() ? found.size : "";
      return `${found.mode.toString(8)} ${file} ${size}`;
    });
}

/** A killed process is listed for a moment longer. */
function isWithoutProcess(uid: number): boolean {
  return !readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .some((pid) => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid);
}

function must(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${stderr}`);
  return stdout;
}
