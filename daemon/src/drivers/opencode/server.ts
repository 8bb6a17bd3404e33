// The opencode server of this host: one process for all sessions and directories. It is started on demand,
// keeps running when the daemon stops, and is adopted by the next daemon. Its port and password are in a
// file that only the daemon's user can read; the server refuses requests without the password.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { childEnvironment, type Environment } from "../../environment.ts";
import { pause } from "../../pause.ts";
import { signalProcess } from "../../signal-process.ts";
import { replaceFile } from "../../state/replace-file.ts";
import { startIdOf } from "../agent-processes.ts";
import { AgentNotReady, type AgentServer } from "../driver.ts";
import { isListening } from "../port-owner.ts";
import { makeStartId } from "../start-id.ts";
import { makeTemporary, temporaryIn } from "../temporary-directories.ts";
import { createApi, type Api, type ApiError } from "./api.ts";
import { configurationWith } from "./configuration.ts";
import { createOffers, type Offers } from "./offer.ts";
import { createShellGate, type ShellGate } from "./shell-gate.ts";

/** What the next daemon needs to adopt the server. Stored as JSON. */
interface ServerRecord {
  pid: number;
  port: number;
  password: string;
  startId: string;
  /** The configuration that the server was started with. */
  configuration?: string;
}

export interface Server extends AgentServer {
  startId: string;
  api: Api;
  offers: Offers;
  gate: ShellGate;
  /** Names of the MCP servers in opencode's configuration. */
  servers: readonly string[];
  isAlive(): boolean;
  /** Ends the process, with SIGKILL if it does not end in time. */
  stop(): Promise<void>;
}

export interface ServerSettings {
  /** File of the ServerRecord. The server's log is in the same directory. */
  stateFile: string;
  /** Added to the environment that every child process gets. */
  environment: Environment;
}

const readyLine = "server listening on";
/** Long enough for a slow host: a second start would take just as long. */
const startMs = 120_000;
const adoptMs = 30_000;

/**
 * The server of an earlier daemon. Undefined if it does not run, does not answer, or has the configuration of
 * another version of the daemon, which may let calls pass that nobody decided about; it is stopped then.
 */
export async function adoptServer(settings: ServerSettings): Promise<Server | undefined> {
  const record = readRecord(settings);
  if (!record) return undefined;
  const server = serverOf(record, settings);
  const isCurrent = record.configuration === configurationOf(server.gate);
  const deadline = isCurrent ? Date.now() + adoptMs : 0;
  while (server.isAlive() && Date.now() < deadline) {
    if (isReady(settings)) {
      try {
        server.gate.install({ keepPasses: true });
        return await readServers(server, 3_000);
      } catch {
        // The server may be busy: tries again until the deadline.
      }
    }
    await pause(100, new AbortController().signal);
  }
  await server.stop();
  return undefined;
}

/** Start id of the recorded server; undefined if its process does not run. */
export function recordedStart(settings: ServerSettings): string | undefined {
  const record = readRecord(settings);
  return record && startIdOf(record.pid) === record.startId ? record.startId : undefined;
}

/** Calls `onStart` with the start id before the process exists. Throws AgentNotReady. */
export async function startServer(
  program: string,
  settings: ServerSettings,
  onStart: (startId: string) => void,
): Promise<Server> {
  const folder = dirname(settings.stateFile);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (let tries = 1; ; tries++) {
    const record = await spawnServer(program, settings, onStart);
    const server = serverOf(record, settings);
    const deadline = Date.now() + startMs;
    while (server.isAlive() && Date.now() < deadline) {
      if (isReady(settings)) {
        await checkNeedsPassword(server, record.port);
        return readServers(server);
      }
      await pause(25, new AbortController().signal);
    }
    const isGone = !server.isAlive();
    await server.stop();
    // Another process may have taken the port meanwhile.
    if (isGone && tries < 3) continue;
    const problem = isGone ? "ended at once" : `was not ready within ${startMs / 1000} s`;
    throw new AgentNotReady(`opencode ${problem}. Its log is ${logOf(settings)}.`);
  }
}

async function spawnServer(
  program: string,
  settings: ServerSettings,
  onStart: (startId: string) => void,
): Promise<ServerRecord> {
  const stateDirectory = dirname(settings.stateFile);
  const startId = makeStartId(stateDirectory);
  const port = await freePort();
  const password = randomBytes(24).toString("base64url");
  onStart(startId);
  const gate = gateOf(settings);
  gate.install({ keepPasses: false });
  const configuration = configurationOf(gate);
  const log = openSync(logOf(settings), "w", 0o600);
  try {
    const child = spawn(
      program,
      ["serve", "--hostname", "127.0.0.1", "--port", String(port), "--pure"],
      {
        cwd: stateDirectory,
        detached: true,
        stdio: ["ignore", log, log],
        env: childEnvironment({
          ...settings.environment,
          HAWSER_AGENT: startId,
          TMPDIR: makeTemporary(temporaryIn(stateDirectory), startId),
          SHELL: "/bin/bash",
          OPENCODE_SERVER_PASSWORD: password,
          OPENCODE_CONFIG_CONTENT: configuration,
          OPENCODE_DISABLE_PROJECT_CONFIG: "1",
          OPENCODE_PURE: "1",
          OPENCODE_DISABLE_AUTOUPDATE: "1",
          OPENCODE_DISABLE_MODELS_FETCH: "1",
        }),
      },
    );
    const pid = await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("spawn", () => resolve(child.pid!));
    }).catch((error: unknown) => {
      throw new AgentNotReady(`opencode does not start: ${(error as Error).message}`);
    });
    child.unref();
    const record = { pid, port, password, startId, configuration };
    replaceFile(settings.stateFile, record);
    return record;
  } finally {
    closeSync(log);
  }
}

const gateOf = ({ stateFile }: ServerSettings) =>
  createShellGate(join(dirname(stateFile), "opencode-shell"));

const configurationOf = (gate: ShellGate) => JSON.stringify(configurationWith(gate.program));

async function readServers(server: Server, deadlineMs?: number): Promise<Server> {
  const deadline = deadlineMs === undefined ? {} : { deadlineMs };
  const { mcp } = (await server.api.request("GET", "/config", deadline)) as { mcp?: object };
  return { ...server, servers: Object.keys(mcp ?? {}) };
}

function serverOf(
  { pid, port, password, startId }: ServerRecord,
  settings: ServerSettings,
): Server {
  const isAlive = () => startIdOf(pid) === startId;
  const signal = (name: NodeJS.Signals) => {
    if (isAlive()) signalProcess(pid, name);
  };
  const api = createApi(port, password);
  return {
    startId,
    port,
    password,
    isListening: () => isAlive() && isListening(pid, port),
    api,
    offers: createOffers(api),
    gate: gateOf(settings),
    servers: [],
    isAlive,
    async stop() {
      signal("SIGTERM");
      const deadline = Date.now() + 5_000;
      while (isAlive() && Date.now() < deadline) await pause(20, new AbortController().signal);
      signal("SIGKILL");
      while (isAlive()) await pause(20, new AbortController().signal);
      if (readRecord(settings)?.startId === startId) rmSync(settings.stateFile, { force: true });
    },
  };
}

function readRecord({ stateFile }: ServerSettings): ServerRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(stateFile, "utf8")) as ServerRecord;
    return typeof record.pid === "number" ? record : undefined;
  } catch {
    return undefined;
  }
}

const logOf = ({ stateFile }: ServerSettings) => join(dirname(stateFile), "opencode.log");

/** The server never answers a request that it receives before it has logged this line. */
function isReady(settings: ServerSettings): boolean {
  try {
    return readFileSync(logOf(settings), "utf8").includes(readyLine);
  } catch {
    return false;
  }
}

/** Stops a server that does not answer, or answers without its password. Throws AgentNotReady then. */
async function checkNeedsPassword(server: Server, port: number): Promise<void> {
  let problem = "opencode answers without its password";
  try {
    await createApi(port, "").request("GET", "/global/health", { deadlineMs: 5_000 });
  } catch (error) {
    const { status, message } = error as ApiError;
    if (status === 401) return;
    if (status === 0) problem = message;
  }
  await server.stop();
  throw new AgentNotReady(`${problem}. It was stopped.`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string")
    throw new Error("The free port has no number.");
  return address.port;
}
