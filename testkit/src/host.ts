// A host: the real daemon as a process of its own, paired the way a person pairs one.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { AgentKind } from "@hawser/contract";
import { policyText } from "@hawser/daemon/policy/policy.ts";
import { endAgents } from "./agent-pids.ts";
import type { Calls } from "./caller.ts";
import { createRepository } from "./git-repository.ts";
import { giveAgents } from "./give-agents.ts";
import { stopProcess } from "./stop-process.ts";
import { nodeEnvironment } from "./node-environment.ts";

export interface TestHost extends AsyncDisposable {
  instanceId: string;
  pid: number;
  process: ChildProcess;
  /** A folder with projects, which the policy names, and one of them. */
  root: string;
  repository: string;
  stateDirectory: string;
  /** What the daemon was started with, for starting it again. */
  environment: Record<string, string>;
  log: Record<string, unknown>[];
}

const hawserd = fileURLToPath(import.meta.resolve("@hawser/daemon/main.ts"));

export interface HostOptions {
  name?: string;
  /** The daemon's main file: the sources, or that of a release. */
  program?: string;
  environment?: Record<string, string>;
  /** The text of its policy file; none unless given. */
  policy?: string;
  /** Gives the host its agents, set up to ask this model; without it there are none. */
  modelUrl?: string;
  /** Which agents; opencode unless told. */
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
  // A home of its own: the logins and settings of whoever runs the tests are not the host's.
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
  await untilStatus(caller, host.instanceId, "online");
  return host;
}

/** What the host's owner allows, from now on. */
export function writePolicy(host: Pick<TestHost, "stateDirectory">, text: string): void {
  writeFileSync(join(host.stateDirectory, "policy"), text);
}

/**
 * The daemon of a host that is paired already, without a supervisor: this process is in its place, so
 * that what is killed or frozen is the daemon itself, and nobody starts it again.
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

/** Waits until an instance has a status, and says how long that took. */
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
