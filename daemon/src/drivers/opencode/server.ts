// The opencode server of this host: one process for all sessions and directories. It is started on demand,
// goes on when the daemon stops, and is taken over by the next daemon. Where it is and its password are in
// a file for the owner only; without the password it answers nobody.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { childEnvironment, type Environment } from "../../environment.ts";
import { pause } from "../../pause.ts";
import { replaceFile } from "../../state/replace-file.ts";
import { startIdOf } from "../agent-processes.ts";
import { AgentNotReady } from "../driver.ts";
import { makeStartId } from "../start-id.ts";
import { openApi, type Api } from "./api.ts";
import { openOffers, type Offers } from "./offer.ts";
import { serverRules } from "./permission-rules.ts";

/** What the next daemon needs to take it over. */
interface Kept {
  pid: number;
  port: number;
  password: string;
  startId: string;
}

export interface Server {
  startId: string;
  api: Api;
  offers: Offers;
  isAlive(): boolean;
  /** Ends it, by force when it has not gone in time. */
  stop(): Promise<void>;
}

export interface ServerPlace {
  /** The file that is kept; its folder also gets the server's log. */
  stateFile: string;
  /** What the server is given on top of what every child is. */
  environment: Environment;
}

const readyLine = "server listening on";
const readyMs = 30_000;

/** The server an earlier daemon left, when it is there and answers. */
export async function adoptServer(place: ServerPlace): Promise<Server | undefined> {
  const kept = readKept(place);
  if (!kept) return undefined;
  const server = serverOf(kept, place);
  const deadline = Date.now() + readyMs;
  while (server.isAlive() && Date.now() < deadline) {
    if (isReady(place)) {
      try {
        await server.api.request("GET", "/global/health", { deadlineMs: 3_000 });
        return server;
      } catch {
        // It may be busy; it is asked again until the deadline.
      }
    }
    await pause(100, new AbortController().signal);
  }
  await server.stop();
  return undefined;
}

/** The start id of the server in the file, when its process is there. */
export function keptStart(place: ServerPlace): string | undefined {
  const kept = readKept(place);
  return kept && startIdOf(kept.pid) === kept.startId ? kept.startId : undefined;
}

/** Throws AgentNotReady. `starting` is told the start id before there is a process. */
export async function startServer(
  program: string,
  place: ServerPlace,
  starting: (startId: string) => void,
): Promise<Server> {
  const folder = dirname(place.stateFile);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (let tries = 1; ; tries++) {
    const kept = await spawnServer(program, place, starting);
    const server = serverOf(kept, place);
    const deadline = Date.now() + readyMs;
    while (server.isAlive() && Date.now() < deadline) {
      if (isReady(place)) {
        await refuseWithoutLogin(server, kept.port);
        return server;
      }
      await pause(25, new AbortController().signal);
    }
    const isGone = !server.isAlive();
    await server.stop();
    // Somebody may have taken the port in between.
    if (isGone && tries < 3) continue;
    const problem = isGone ? "ended at once" : `was not ready within ${readyMs / 1000} s`;
    throw new AgentNotReady(`opencode ${problem}. Its log is ${logOf(place)}.`);
  }
}

async function spawnServer(
  program: string,
  place: ServerPlace,
  starting: (startId: string) => void,
): Promise<Kept> {
  const startId = makeStartId(dirname(place.stateFile));
  const port = await freePort();
  const password = randomBytes(24).toString("base64url");
  starting(startId);
  const shellFile = join(dirname(place.stateFile), "agent-shell.sh");
  writeFileSync(shellFile, forShells, { mode: 0o600 });
  const log = openSync(logOf(place), "w", 0o600);
  try {
    const child = spawn(
      program,
      ["serve", "--hostname", "127.0.0.1", "--port", String(port), "--pure"],
      {
        cwd: dirname(place.stateFile),
        detached: true,
        stdio: ["ignore", log, log],
        env: childEnvironment({
          ...place.environment,
          HAWSER_AGENT: startId,
          BASH_ENV: shellFile,
          OPENCODE_SERVER_PASSWORD: password,
          OPENCODE_CONFIG_CONTENT: JSON.stringify(policy),
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
    const kept = { pid, port, password, startId };
    replaceFile(place.stateFile, kept);
    return kept;
  } finally {
    closeSync(log);
  }
}

/** Read by each shell that opencode starts: what an agent prints of its environment is no secret then. */
const forShells = "unset OPENCODE_SERVER_PASSWORD OPENCODE_CONFIG_CONTENT BASH_ENV\n";

/** It stands above the host's own configuration. */
const policy = { autoupdate: false, share: "disabled", permission: serverRules };

function serverOf({ pid, port, password, startId }: Kept, place: ServerPlace): Server {
  const isAlive = () => startIdOf(pid) === startId;
  const signal = (name: NodeJS.Signals) => {
    try {
      if (isAlive()) process.kill(pid, name);
    } catch {
      // It went by itself.
    }
  };
  const api = openApi(port, password);
  return {
    startId,
    api,
    offers: openOffers(api),
    isAlive,
    async stop() {
      signal("SIGTERM");
      const deadline = Date.now() + 5_000;
      while (isAlive() && Date.now() < deadline) await pause(20, new AbortController().signal);
      signal("SIGKILL");
      while (isAlive()) await pause(20, new AbortController().signal);
      if (readKept(place)?.startId === startId) rmSync(place.stateFile, { force: true });
    },
  };
}

function readKept({ stateFile }: ServerPlace): Kept | undefined {
  try {
    const kept = JSON.parse(readFileSync(stateFile, "utf8")) as Kept;
    return typeof kept.pid === "number" ? kept : undefined;
  } catch {
    return undefined;
  }
}

const logOf = ({ stateFile }: ServerPlace) => join(dirname(stateFile), "opencode.log");

/** Before this line, a request is taken and never answered. */
function isReady(place: ServerPlace): boolean {
  try {
    return readFileSync(logOf(place), "utf8").includes(readyLine);
  } catch {
    return false;
  }
}

/** A server that would talk to everybody on the host must not run. */
async function refuseWithoutLogin(server: Server, port: number): Promise<void> {
  try {
    await openApi(port, "").request("GET", "/global/health", { deadlineMs: 5_000 });
  } catch (error) {
    if ((error as { status?: number }).status === 401) return;
  }
  await server.stop();
  throw new AgentNotReady("opencode answers without its password, so it was stopped.");
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("A port has no number.");
  return address.port;
}
