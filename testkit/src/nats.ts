// Real nats-servers with the product's configuration, each in its own process, which ends with this one. A
// test can kill and freeze them, and start them again with or without their disk.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  accountWithRevocations,
  type FabricKeys,
} from "@hawser/control-plane/fabric/fabric-keys.ts";
import {
  natsConfig,
  natsKeysConfig,
  natsKeysFile,
} from "@hawser/control-plane/fabric/nats-config.ts";
import { freePort } from "./free-port.ts";
import { removeDirectory } from "./remove-directory.ts";
import { stopProcess } from "./stop-process.ts";

export interface NatsServer extends AsyncDisposable {
  /** host:port for nodes. */
  url: string;
  /** host:port of the WebSocket listener. */
  websocket: string;
  monitorUrl: string;
  pid: number;
  /** Its log so far. */
  log(): string;
  /** Ends it with this signal; by default SIGKILL. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Ends it if it runs, and starts it again; `wipe` empties its disk before. */
  restart(options?: { wipe?: boolean }): Promise<void>;
}

export interface Nats extends AsyncDisposable {
  /** The directory of the servers' configurations. */
  directory: string;
  servers: NatsServer[];
  /** The addresses for HAWSER_NATS_URLS and HAWSER_NATS_WEBSOCKETS. */
  urls: string[];
  websockets: string[];
}

export interface NatsOptions {
  keys: FabricKeys;
  servers?: 1 | 3;
  /** The directory of configurations and disks; by default a temporary one. */
  directory?: string;
  /** If false, hosts are refused until a node has pushed the revocations, as in production. */
  admitHosts?: boolean;
}

const binary = fileURLToPath(new URL("../../.tools/nats-server", import.meta.url));
const longestStartMs = 60_000;

export async function startNats({
  keys,
  servers: count = 1,
  directory: given,
  admitHosts = true,
}: NatsOptions): Promise<Nats> {
  await using startup = new AsyncDisposableStack();
  const directory = given ?? mkdtempSync(join(tmpdir(), "hawser-nats-"));
  if (!given) startup.defer(() => removeDirectory(directory));
  const clusterPorts: number[] = [];
  for (let i = 0; i < count; i++) clusterPorts.push(await freePort());
  writeFileSync(join(directory, natsKeysFile), natsKeysConfig(keys), { mode: 0o600 });
  const starting: Promise<NatsServer>[] = [];
  for (let i = 0; i < count; i++) {
    const name = `n${i + 1}`;
    const storeDirectory = join(directory, name);
    const [listen, websocket, monitor] = [await address(), await address(), await address()];
    const others = clusterPorts.filter((_port, at) => at !== i);
    const text = natsConfig(keys, {
      name,
      listen,
      websocket,
      monitor,
      storeDirectory,
      ...(count > 1 && {
        cluster: {
          name: "test",
          listen: `127.0.0.1:${clusterPorts[i]}`,
          routes: others.map((port) => `127.0.0.1:${port}`),
        },
      }),
    });
    const configFile = join(directory, `${name}.conf`);
    writeFileSync(configFile, text, { mode: 0o600 });
    mkdirSync(storeDirectory, { recursive: true });
    if (admitHosts) {
      const open = accountWithRevocations(keys, {}, 2);
      writeFileSync(join(storeDirectory, `${keys.accountPublicKey}.jwt`), open);
    }
    const peers = count - 1;
    starting.push(
      startNatsServer({ configFile, listen, websocket, monitor, storeDirectory, peers }),
    );
  }
  const servers: NatsServer[] = [];
  // All are awaited before a failure is thrown, so that every started server is stopped.
  const started = await Promise.allSettled(starting);
  for (const each of started)
    if (each.status === "fulfilled") servers.push(startup.use(each.value));
  for (const each of started) if (each.status === "rejected") throw each.reason;
  const owned = startup.move();
  return {
    directory,
    servers,
    urls: servers.map(({ url }) => url),
    websockets: servers.map(({ websocket }) => websocket),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export interface ServerPlace {
  configFile: string;
  /** host:port, as in the configuration. */
  listen: string;
  websocket: string;
  monitor: string;
  storeDirectory: string;
  /** How many other servers must be connected before it counts as ready. */
  peers?: number;
}

/** Starts one server from a configuration file. */
export async function startNatsServer(place: ServerPlace): Promise<NatsServer> {
  let log = "";
  let child = launch();
  await untilReady(place, child, () => log).catch(async (error: unknown) => {
    await stopProcess(child, "SIGKILL");
    throw error;
  });

  function launch(): ChildProcess {
    // The kernel ends the server if this process dies, even by SIGKILL.
    const command = ["--pdeathsig=KILL", "--", binary, "--config", place.configFile];
    const started = spawn("setpriv", command, {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"] },
    });
    started.stderr.on("data", (chunk: Buffer) => (log = (log + chunk.toString()).slice(-50_000)));
    return started;
  }

  return {
    url: place.listen,
    websocket: place.websocket,
    monitorUrl: `http://${place.monitor}`,
    get pid() {
      return child.pid!;
    },
    log: () => log,
    kill: (signal = "SIGKILL") => stopProcess(child, signal),
    async restart({ wipe = false } = {}) {
      await stopProcess(child, "SIGKILL");
      if (wipe) rmSync(place.storeDirectory, { recursive: true, force: true });
      child = launch();
      await untilReady(place, child, () => log);
    },
    [Symbol.asyncDispose]: () => stopProcess(child, "SIGKILL"),
  };
}

async function address(): Promise<string> {
  return `127.0.0.1:${await freePort()}`;
}

async function untilReady(
  { monitor, peers = 0 }: ServerPlace,
  child: ChildProcess,
  log: () => string,
): Promise<void> {
  const deadline = Date.now() + longestStartMs;
  for (;;) {
    if ((await isHealthy(monitor)) && (await countPeers(monitor)) >= peers) return;
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`nats-server was not ready within ${longestStartMs} ms.\n${log()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function isHealthy(monitor: string): Promise<boolean> {
  return fetch(`http://${monitor}/healthz`).then(
    (response) => response.ok,
    () => false,
  );
}

async function countPeers(monitor: string): Promise<number> {
  const response = await fetch(`http://${monitor}/routez`);
  const { routes = [] } = (await response.json()) as { routes?: { remote_id: string }[] };
  return new Set(routes.map(({ remote_id }) => remote_id)).size;
}
