// Many hosts in one process, for tests that need hundreds of them. They are paired through the real
// endpoints and connected through the real edge.
import { fork, type ChildProcess } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Caller } from "./caller.ts";
import { stopProcess } from "./stop-process.ts";
import { nodeEnvironment } from "./node-environment.ts";
import { openOrders } from "./orders.ts";
import { removeDirectory } from "./remove-directory.ts";

export interface LightOrder {
  start: { serverUrl: string; tokens: string[] };
  append: { instanceId: string; sessionId: string; texts: string[] };
  status: object;
  stop: { instanceIds: string[] };
  startAgain: { instanceIds: string[] };
}

export interface LightHosts extends AsyncDisposable {
  pid: number;
  process: ChildProcess;
  instanceIds: string[];
  /** Appends entries to a session's log through the host's real journal, and returns their numbers. */
  append(instanceId: string, sessionId: string, texts: string[]): Promise<number[]>;
  /** The state of each host's link, as the host reports it. */
  states(): Promise<string[]>;
  /** Stops some of the hosts, as their owners would. */
  stop(instanceIds: string[]): Promise<void>;
  /** Starts hosts again that were stopped, from what is on their disks. */
  startAgain(instanceIds: string[]): Promise<void>;
}

const program = fileURLToPath(import.meta.resolve("./light-hosts-process.ts"));

/** The hosts connect to `serverUrl`, which may be a proxy. */
export async function startLightHosts(
  caller: Caller,
  serverUrl: string,
  count: number,
): Promise<LightHosts> {
  const directory = mkdtempSync(join(tmpdir(), "hawser-light-hosts-"));
  const child = fork(program, [directory], { env: nodeEnvironment() });
  const { ready, tell } = openOrders(child);
  await ready;
  const tokens: string[] = [];
  for (let i = 0; i < count; i++) {
    tokens.push((await caller.create_instance({ name: `light host ${i + 1}` })).pairingToken);
  }
  const instanceIds = await tell<string[]>("start", { serverUrl, tokens });
  return {
    pid: child.pid!,
    process: child,
    instanceIds,
    append: (instanceId, sessionId, texts) => tell("append", { instanceId, sessionId, texts }),
    states: () => tell("status", {}),
    stop: (stopped) => tell("stop", { instanceIds: stopped }),
    startAgain: (stopped) => tell("startAgain", { instanceIds: stopped }),
    async [Symbol.asyncDispose]() {
      await stopProcess(child, "SIGKILL");
      removeDirectory(directory);
    },
  };
}
