// This machine as a host: the daemon of the package, with a state directory of its own, so that the machine
// can be a host of another service too.
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Refused, type Client } from "@hawser/client";
import { listAgentProcesses } from "@hawser/daemon/drivers/agent-processes.ts";
import { isStartOf } from "@hawser/daemon/drivers/start-id.ts";
import { openState, type State } from "@hawser/daemon/state/state.ts";
import { CommandFailed } from "../command-failed.ts";
import { partEnvironment } from "./environment.ts";
import { keep } from "./keeper.ts";
import type { Part } from "./supervise.ts";

export const hostStateOf = (dataDirectory: string) => join(dataDirectory, "host");
const programOf = (dataDirectory: string) => join(hostStateOf(dataDirectory), "bin/hawserd");

const onlinePatienceMs = 30_000;

export interface HostOptions {
  dataDirectory: string;
  client: Client;
  /** The address at which this machine reaches the node. */
  url: string;
  /** Directories in which agents may work; ~/hawser if empty. */
  roots: readonly string[];
}

/** Whether this machine has been paired before. */
export const isPaired = (dataDirectory: string) =>
  existsSync(join(hostStateOf(dataDirectory), "credentials.json"));

/** Pairs this machine if it is not, and returns its instance. */
export async function pairHost(options: HostOptions): Promise<string> {
  const { dataDirectory, client, url, roots } = options;
  const state = openState(hostStateOf(dataDirectory));
  const credentials = state.readCredentials();
  if (credentials && (await isKnown(client, credentials.instanceId))) {
    tellAddress(state, url);
    for (const root of roots) await hawserd(dataDirectory, ["roots", "add", root]);
    return credentials.instanceId;
  }
  const name = hostname().slice(0, 80) || "this machine";
  // A start that was killed before the pairing has registered it already.
  const { instances } = await client.search_instances({ query: name, status: "pairing" });
  const waiting = instances.find((each) => each.name === name);
  const { instance, pairingToken } = waiting
    ? {
        instance: waiting,
        ...(await client.regenerate_pairing_token({ instanceId: waiting.instanceId })),
      }
    : await client.create_instance({ name });
  const setup = ["setup", "--no-service", "--server", url];
  const chosen = roots.flatMap((root) => ["--root", root]);
  await hawserd(dataDirectory, [...setup, ...chosen], { HAWSER_TOKEN: pairingToken });
  return instance.instanceId;
}

async function isKnown(client: Client, instanceId: string): Promise<boolean> {
  try {
    await client.get_instance({ instanceId });
    return true;
  } catch (error) {
    if (error instanceof Refused && error.code === "not_found") return false;
    throw error;
  }
}

/** The instance of a paired machine, whose daemon learns the address. */
export function pairedHost(dataDirectory: string, url: string): string {
  const state = openState(hostStateOf(dataDirectory));
  tellAddress(state, url);
  return state.readCredentials()!.instanceId;
}

/** The daemon does not run now, and reads its credentials when it starts. */
function tellAddress(state: State, url: string): void {
  const credentials = state.readCredentials()!;
  const serverUrl = new URL(url).origin;
  if (credentials.serverUrl !== serverUrl) state.saveCredentials({ ...credentials, serverUrl });
}

async function hawserd(
  dataDirectory: string,
  args: string[],
  environment: Record<string, string> = {},
): Promise<void> {
  const { code, stdout, stderr } = await keep({
    program: programOf(dataDirectory),
    args,
    environment: partEnvironment(environment),
    directory: dataDirectory,
    output: "pipe",
  }).ended;
  if (code === 0) return;
  throw new CommandFailed(
    `This machine could not be made a host: ${stderr.trim() || stdout.trim()} To start without a host: hawser up --no-host`,
  );
}

export function hostPart(dataDirectory: string, version: string): Part {
  return {
    name: "host",
    title: "The daemon of this machine",
    version,
    program: programOf(dataDirectory),
    args: ["run", "--quiet"],
    environment: partEnvironment(),
    // The service shows whether it is online; a daemon that tries to connect is not started again.
    untilReady: () => Promise.resolve(),
    readyMs: 60_000,
    stopMs: 30_000,
    // A daemon whose instance was deleted has removed its credentials.
    whyDone: () =>
      isPaired(dataDirectory)
        ? undefined
        : "This machine is no longer a host, because its instance was deleted. The next hawser up makes it one again; hawser up --no-host does not.",
  };
}

/** Returns whether the service shows this machine online in time. */
export async function untilOnline(
  { client, dataDirectory }: { client: Client | undefined; dataDirectory: string },
  instanceId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const deadline = Date.now() + onlinePatienceMs;
  while (Date.now() < deadline && !signal.aborted) {
    // The service shows a host of a killed process online for a moment longer.
    if (hasLink(dataDirectory)) {
      if (!client) return true;
      const { status } = await client.get_instance({ instanceId });
      if (status === "online") return true;
    }
    await pause(20);
  }
  return false;
}

/** Whether the daemon's own record says that its link is open. */
export function hasLink(dataDirectory: string): boolean {
  try {
    const text = readFileSync(join(hostStateOf(dataDirectory), "status.json"), "utf8");
    const { state, supervisorPid } = JSON.parse(text) as { state: string; supervisorPid: number };
    const running = readFileSync(join(hostStateOf(dataDirectory), "process.json"), "utf8");
    return state === "online" && (JSON.parse(running) as { pid: number }).pid === supervisorPid;
  } catch {
    return false;
  }
}

/** How many agents of this host run. They outlive the daemon, and the next one finds them (decision 0021). */
export function countAgents(dataDirectory: string): number {
  const directory = hostStateOf(dataDirectory);
  if (!existsSync(directory)) return 0;
  const starts = listAgentProcesses().map(({ startId }) => startId);
  return new Set(starts.filter((startId) => isStartOf(directory, startId))).size;
}
