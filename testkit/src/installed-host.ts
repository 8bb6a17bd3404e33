// A host whose daemon is installed from a release in the installer's layout, and started like a service: a
// supervisor, which only the test starts again.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { policyText } from "@hawser/daemon/policy/policy.ts";
import type { DaemonManifest } from "@hawser/host-protocol";
import { endAgents } from "./agent-pids.ts";
import type { Caller } from "./caller.ts";
import { giveAgents } from "./give-agents.ts";
import { untilStatus } from "./host.ts";
import type { Releases } from "./release.ts";
import { stopProcess } from "./stop-process.ts";
import { until } from "./until.ts";

export interface InstalledHost extends AsyncDisposable {
  instanceId: string;
  stateDirectory: string;
  /** The log of all its processes. */
  log: Record<string, unknown>[];
  supervisor: ChildProcess;
  /** The version that the pointer names. */
  current: () => string;
  /** The daemon's status file; `pid` is the process that serves. */
  status: () => { pid: number; supervisorPid: number; version: string; state: string };
  /** Starts the supervisor, as a service manager does after it has ended. */
  start: () => void;
  /** Runs a command of the installed program, and waits for its end. */
  call: (...args: string[]) => Promise<{ code: number; output: string }>;
  /** Every process that belongs to this host's daemon. */
  pids: () => Promise<number[]>;
}

export interface InstallOptions {
  caller: Caller;
  baseUrl: string;
  releases: Releases;
  /** Created if it is missing. */
  stateDirectory: string;
  /** How many seconds a new version may take until it serves. */
  takeover?: number;
  /** Installs without the release's Node, so that an update has to download it. */
  otherNode?: boolean;
  /** File descriptor for the daemon's stderr; by default it is added to `log`. */
  output?: number;
  /** Installs the real opencode, with a home in which it is set up to ask this model. */
  modelUrl?: string;
}

export async function installHost(options: InstallOptions): Promise<InstalledHost> {
  const { caller, baseUrl, releases, stateDirectory, takeover = 30 } = options;
  const version = placeRelease(releases, stateDirectory, options.otherNode);
  const policy = join(stateDirectory, "policy");
  if (!existsSync(policy)) writeFileSync(policy, policyText([]));
  const node = process.execPath;
  const { instance, pairingToken } = await caller.create_instance({ name: `host ${version}` });
  const { instanceId } = instance;
  const program = () => join(stateDirectory, "daemon/current/hawserd.mjs");
  const state = ["--state", stateDirectory];
  const run = promisify(execFile);
  await run(node, [program(), "pair", "--server", baseUrl, "--token", pairingToken, ...state]);

  const home = `${stateDirectory}-home`;
  const { modelUrl } = options;
  if (modelUrl) await giveAgents({ kinds: ["opencode"], stateDirectory, home, modelUrl });
  const log: Record<string, unknown>[] = [];
  const start = () => {
    const args = [program(), "run", "--takeover", String(takeover), ...state];
    const currentNode = join(stateDirectory, "daemon/current/node");
    const child = spawn("setpriv", ["--pdeathsig=TERM", "--", currentNode, ...args], {
      stdio: ["ignore", "ignore", options.output ?? "pipe"],
      env: { PATH: process.env["PATH"], ...(options.modelUrl && { HOME: home }) },
    });
    if (child.stderr) {
      createInterface({ input: child.stderr }).on("line", (line) => {
        if (line.startsWith("{")) log.push(JSON.parse(line) as Record<string, unknown>);
        else log.push({ event: "stderr", line });
      });
    }
    host.supervisor = child;
  };
  const pids = async () => {
    const { stdout } = await run("ps", ["-eo", "pid=,stat=,args="]);
    return stdout
      .split("\n")
      .filter((line) => line.includes(stateDirectory) && line.includes("hawserd.mjs"))
      .map((line) => line.trim().split(/\s+/))
      .filter(([, stat]) => !stat!.startsWith("Z"))
      .map(([pid]) => Number(pid));
  };
  const host: InstalledHost = {
    instanceId,
    stateDirectory,
    log,
    supervisor: undefined as unknown as ChildProcess,
    current: () => readlinkSync(join(stateDirectory, "daemon/current")),
    status: () =>
      JSON.parse(readFileSync(join(stateDirectory, "status.json"), "utf8")) as ReturnType<
        InstalledHost["status"]
      >,
    start,
    call: (...args) =>
      run(node, [program(), ...args, ...state]).then(
        ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
        (error: { code: number; stdout: string; stderr: string }) => ({
          code: error.code,
          output: error.stdout + error.stderr,
        }),
      ),
    pids,
    async [Symbol.asyncDispose]() {
      await stopProcess(host.supervisor, "SIGTERM", 20_000);
      await until("its processes have ended", async () => (await pids()).length === 0, 20_000);
      endAgents(home);
    },
  };
  start();
  await untilStatus(caller, instanceId, "online");
  await until("it says so itself", () => host.status().state === "online");
  return host;
}

/** Writes the published version into a state directory and makes it current, like the installer. */
export function placeRelease(
  { directory }: Releases,
  stateDirectory: string,
  otherNode = false,
): string {
  const path = join(directory, "daemon.json");
  const manifest = JSON.parse(readFileSync(path, "utf8")) as DaemonManifest;
  const published = Object.values(manifest.platforms)[0]!;
  const place = join(stateDirectory, "daemon", manifest.version);
  const nodeVersion = otherNode ? "0.0.0" : published.node.version;
  const nodePlace = join(stateDirectory, "node", nodeVersion);
  mkdirSync(place, { recursive: true });
  mkdirSync(nodePlace, { recursive: true });
  // The same 120 MB as in the release.
  if (!existsSync(join(nodePlace, "node"))) symlinkSync(process.execPath, join(nodePlace, "node"));
  copyFileSync(join(directory, published.daemon.file), join(place, "hawserd.mjs"));
  symlinkSync(`../../node/${nodeVersion}/node`, join(place, "node"));
  const pointer = join(stateDirectory, "daemon/current");
  symlinkSync(manifest.version, `${pointer}.next`);
  renameSync(`${pointer}.next`, pointer);
  return manifest.version;
}
