// A host: the real daemon in its own process, paired with the same command that a person uses.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import type { AgentKind } from "@hawser/contract";
import { policyText } from "@hawser/daemon/policy/policy.ts";
import { endAgents } from "./agent-pids.ts";
import type { Calls } from "./caller.ts";
import { createRepository } from "./git-repository.ts";
import { giveAgents } from "./give-agents.ts";
import { mainFile } from "./main-file.ts";
import { stopProcess } from "./stop-process.ts";
import { nodeEnvironment } from "./node-environment.ts";

export interface TestHost extends AsyncDisposable {
  instanceId: string;
  pid: number;
  process: ChildProcess;
  /** The folder of projects that the policy allows, and one project in it. */
  root: string;
  repository: string;
  stateDirectory: string;
  /** The daemon's environment, for starting it again. */
  environment: Record<string, string>;
  log: Record<string, unknown>[];
}

const hawserd = mainFile("daemon");

export interface HostOptions {
  name?: string;
  /** The daemon's main file, of the sources or of a release. */
  program?: string;
  environment?: Record<string, string>;
  /** The text of the policy file; by default it allows the folder of projects. */
  policy?: string;
  /** Installs agents that ask this model; no agents if undefined. */
  modelUrl?: string;
  /** The agents to install; by default opencode. */
  agents?: readonly AgentKind[];
}

/** Registers an instance, pairs a daemon with it and starts it; online when this returns. */
export async function startHost(
  caller: Calls,
  baseUrl: string,
  directory: string,
  options: HostOptions = {},
): Promise<TestHost> {
  const { name = "host", program = hawserd, environment = {}, policy, modelUrl } = options;
  const { instance, pairingToken } = await caller.create_instance({ name });
  const stateDirectory = join(directory, "state");
  const root = join(directory, "projects");
  mkdirSync(directory, { recursive: true });
  const repository = createRepository(join(root, "widget"));
  await promisify(execFile)(process.execPath, [
    program,
    "pair",
    "--server",
    baseUrl,
    "--token",
    pairingToken,
    "--state",
    stateDirectory,
  ]);
  writePolicy({ stateDirectory }, policy ?? policyText([root]));
  // The host has its own home, so that it does not use the logins and settings of the developer.
  const home = join(directory, "home");
  mkdirSync(home, { recursive: true });
  if (modelUrl) {
    await giveAgents({ kinds: options.agents ?? ["opencode"], stateDirectory, home, modelUrl });
  }
  const own = { HOME: home, TMPDIR: tmpdir(), ...environment };
  const daemon = runDaemon(stateDirectory, own, program);
  const about = { instanceId: instance.instanceId, root, repository, stateDirectory };
  const host = {
    ...about,
    environment: own,
    ...daemon,
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      endAgents(own.HOME);
    },
  };
  // The end of a wait, and no goal: a busy machine starts three agents beside this daemon.
  await untilStatus(caller, host.instanceId, "online", 60_000);
  return host;
}

/** Replaces the host's policy. */
export function writePolicy(host: Pick<TestHost, "stateDirectory">, text: string): void {
  writeFileSync(join(host.stateDirectory, "policy"), text);
}

/**
 * Starts the daemon of a paired host without a supervisor. A test kills or freezes the daemon itself, and
 * nothing starts it again.
 */
export function runDaemon(
  stateDirectory: string,
  environment: Record<string, string> = {},
  program = hawserd,
) {
  const child = spawn(
    "setpriv",
    ["--pdeathsig=TERM", "--", process.execPath, program, "serve", "--state", stateDirectory],
    {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      env: { ...nodeEnvironment(), ...environment },
    },
  );
  const log: Record<string, unknown>[] = [];
  createInterface({ input: child.stderr! }).on("line", (line) => {
    if (line.startsWith("{")) log.push(JSON.parse(line) as Record<string, unknown>);
  });
  return {
    pid: child.pid!,
    process: child,
    log,
    [Symbol.asyncDispose]: () => stopProcess(child),
  };
}

/** Waits until an instance has a status, and returns how long that took. */
export async function untilStatus(
  caller: Calls,
  instanceId: string,
  status: string,
  patienceMs = 20_000,
): Promise<number> {
  const started = performance.now();
  for (;;) {
    const instance = await caller.get_instance({ instanceId });
    if (instance.status === status) return performance.now() - started;
    if (performance.now() - started > patienceMs) {
      throw new Error(
        `The instance is ${instance.status} (${instance.statusReason}), not ${status}, after ${patienceMs} ms.`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
