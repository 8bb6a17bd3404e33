// Many hosts in one process, for tests that need hundreds of them. They are paired through the real
// endpoints and connected through the real edge.
import { fork, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LinkTiming } from "@hawser/daemon/link/timing.ts";
import type { Caller } from "./caller.ts";
import { stopProcess } from "./stop-process.ts";
import { nodeEnvironment } from "./node-environment.ts";
import { openOrders } from "./orders.ts";

export interface LightOrder {
  pair: { serverUrl: string; tokens: string[] };
  start: { timing: Partial<LinkTiming>; root?: string };
  append: { instanceId: string; sessionId: string; texts: string[] };
  status: object;
  paired: object;
  renewalSeconds: object;
  stop: { instanceIds: string[] };
  startAgain: { instanceIds: string[] };
}

export interface LightHosts extends AsyncDisposable {
  pid: number;
  process: ChildProcess;
  instanceIds: string[];
  /** Where sessions can be started: a folder without git, the same for all hosts. */
  folder: string;
  /** Appends entries to a session's log through the host's real journal, and returns their numbers. */
  append(instanceId: string, sessionId: string, texts: string[]): Promise<number[]>;
  /** The state of each host's link, as the host reports it. */
  states(): Promise<string[]>;
  /** The instances of the hosts that have their credentials on disk. */
  paired(): Promise<string[]>;
  /** Mean time from the issue of a host's present token until the host renews it. */
  renewalSeconds(): Promise<number>;
  /** Stops some of the hosts, as their owners would. */
  stop(instanceIds: string[]): Promise<void>;
  /** Starts hosts again that were stopped, from what is on their disks. */
  startAgain(instanceIds: string[]): Promise<void>;
}

/**
 * In memory where the system offers that: on one disk, hundreds of hosts would wait for each other's writes,
 * which hosts with disks of their own do not.
 */
const memoryOrDisk = () => (existsSync("/dev/shm") ? "/dev/shm" : tmpdir());

const program = fileURLToPath(import.meta.resolve("./light-hosts-process.ts"));

interface LightHostsOptions {
  /** Changes the waits of their links. */
  timing?: Partial<LinkTiming>;
  /** Lets each host run the scripted agent, as opencode; by default a host has no agent. */
  agents?: boolean;
  /** Called every few seconds with how many hosts are paired. */
  onPaired?: (paired: number) => void;
}

/** Hosts that are paired at once, while the instances of the next ones are created. */
const pairedAtOnce = 25;
const reportEveryMs = 3_000;

/** The hosts connect to `serverUrl`, which may be a proxy. */
export async function startLightHosts(
  caller: Caller,
  serverUrl: string,
  count: number,
  { timing = {}, agents = false, onPaired = () => {} }: LightHostsOptions = {},
): Promise<LightHosts> {
  const directory = mkdtempSync(join(memoryOrDisk(), "hawser-light-hosts-"));
  const child = fork(program, [directory], { env: nodeEnvironment() });
  const { ready, tell } = openOrders(child);
  await ready;
  let reportedAt = performance.now();
  let paired: Promise<string[]> = Promise.resolve([]);
  for (let first = 0; first < count; first += pairedAtOnce) {
    const tokens: string[] = [];
    for (let i = first; i < Math.min(first + pairedAtOnce, count); i++) {
      tokens.push((await caller.create_instance({ name: `light host ${i + 1}` })).pairingToken);
    }
    const before = await paired;
    paired = tell<string[]>("pair", { serverUrl, tokens }).then((more) => [...before, ...more]);
    // Awaited in the next round, or below.
    paired.catch(() => {});
    if (performance.now() - reportedAt < reportEveryMs) continue;
    reportedAt = performance.now();
    onPaired(before.length);
  }
  const instanceIds = await paired;
  onPaired(count);
  const folder = join(directory, "folder");
  await tell("start", { timing, ...(agents && { root: folder }) });
  return {
    pid: child.pid!,
    process: child,
    instanceIds,
    folder,
    append: (instanceId, sessionId, texts) => tell("append", { instanceId, sessionId, texts }),
    states: () => tell("status", {}),
    paired: () => tell("paired", {}),
    renewalSeconds: () => tell("renewalSeconds", {}),
    stop: (stopped) => tell("stop", { instanceIds: stopped }),
    startAgain: (stopped) => tell("startAgain", { instanceIds: stopped }),
    async [Symbol.asyncDispose]() {
      await stopProcess(child, "SIGKILL");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
