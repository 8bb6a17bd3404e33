// The product of a demo: `hawser up` with a data directory, a home and a project in one temporary directory, and
// the scripted model in this process. Disposing of it stops and removes all of it.
import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, type Client } from "@hawser/client";
import { listAgentProcesses } from "@hawser/daemon/drivers/agent-processes.ts";
import { isStartOf } from "@hawser/daemon/drivers/start-id.ts";
import { signalProcess } from "@hawser/daemon/signal-process.ts";
import { CommandFailed } from "../command-failed.ts";
import { registryAddress } from "../engines/registry.ts";
import { installAgent, type Kind } from "../install-agent.ts";
import { safeText } from "../terminal.ts";
import { stopUp } from "../up/down.ts";
import { hostStateOf } from "../up/host.ts";
import { keep, type Kept } from "../up/keeper.ts";
import { writeClaudeHome, writeCodexHome, writeOpencodeHome } from "./agent-homes.ts";
import { startScriptedModel } from "./scripted-model/scripted-model.ts";

export interface Stage extends AsyncDisposable {
  url: string;
  key: string;
  instanceId: string;
  client: Client;
  /** A git repository with one commit. */
  project: string;
  /** The agents that are ready, in the order asked for. */
  kinds: Kind[];
}

const readyMs = 600_000;
const say = (line: string) => process.stdout.write(`${safeText(line)}\n`);

export async function startStage(kinds: Kind[], signal: AbortSignal): Promise<Stage> {
  await using parts = new AsyncDisposableStack();
  // Asked before the home is replaced, because npm's settings are in the user's own.
  const registry = await registryAddress().catch(() => undefined);
  const directory = mkdtempSync(join(tmpdir(), "hawser-demo-"));
  parts.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  const [data, home, project] = ["data", "home", "projects/widget"].map((name) =>
    join(directory, name),
  ) as [string, string, string];
  const model = parts.use(await startScriptedModel());
  writeOpencodeHome(home, model.url);
  writeClaudeHome(home, model.url);
  writeCodexHome(join(home, ".codex"), model.url);
  makeProject(project);

  say("Starting the whole product in a temporary directory …");
  parts.defer(() => endAgents(data));
  const up = startUp({ directory, data, home, root: join(directory, "projects"), registry });
  parts.defer(() => up.kept.stop(60_000));
  // The keeper repeats its signal, and the second one would end hawser up before its parts.
  parts.defer(async () => void (await stopUp(data)));
  const { url, key, instanceId } = await untilReady(up, signal);
  const client = createClient({ url, key });
  const ready = await installAgents(client, instanceId, kinds, signal);
  const owned = parts.move();
  return {
    url,
    key,
    instanceId,
    client,
    project,
    kinds: ready,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface Up {
  kept: Kept;
  log: string;
}

interface Place {
  directory: string;
  data: string;
  home: string;
  root: string;
  registry: string | undefined;
}

function startUp({ directory, data, home, root, registry }: Place): Up {
  const log = join(directory, "up.log");
  const output = openSync(log, "a", 0o600);
  const { HAWSER_URL: _url, HAWSER_KEY: _key, HAWSER_SERVER_HOME: _home, ...own } = process.env;
  const options = ["--data", data, "--listen", "127.0.0.1:0", "--root", root, "--yes", "--json"];
  const kept = keep({
    program: process.execPath,
    args: [process.argv[1]!, "up", ...options],
    environment: {
      ...(own as Record<string, string>),
      HOME: home,
      // Otherwise settings of the user's own agents and of git would be read from there.
      XDG_CONFIG_HOME: join(home, ".config"),
      XDG_DATA_HOME: join(home, ".local/share"),
      XDG_CACHE_HOME: join(home, ".cache"),
      XDG_STATE_HOME: join(home, ".local/state"),
      ...(registry !== undefined && { npm_config_registry: registry }),
    },
    directory,
    output,
  });
  closeSync(output);
  return { kept, log };
}

/** Prints the lines of `hawser up` until it is ready. Throws CommandFailed if it ends before. */
async function untilReady(
  { kept, log }: Up,
  signal: AbortSignal,
): Promise<{ url: string; key: string; instanceId: string }> {
  let ended = false;
  void kept.ended.finally(() => (ended = true)).catch(() => {});
  const deadline = Date.now() + readyMs;
  for (let shown = 0; ; await pause(50)) {
    signal.throwIfAborted();
    // Read after `ended`, so that its last lines are not missed.
    const wasEnded = ended;
    const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
    for (const line of lines.slice(shown)) {
      if (line.startsWith('{"url":')) {
        return JSON.parse(line) as { url: string; key: string; instanceId: string };
      }
      say(`  ${line}`);
    }
    shown = lines.length;
    if (wasEnded) throw new CommandFailed("The demo could not start. The lines above say why.");
    if (Date.now() > deadline) {
      throw new CommandFailed(`The demo was not ready after ${readyMs / 1000} seconds.`);
    }
  }
}

/** Returns the kinds that are ready. Throws CommandFailed if none is. */
async function installAgents(
  client: Client,
  instanceId: string,
  kinds: Kind[],
  signal: AbortSignal,
): Promise<Kind[]> {
  say(`Installing ${kinds.join(", ")} …`);
  const reasons = await Promise.all(
    kinds.map((kind) => installAgent({ client, instanceId, kind, say, signal })),
  );
  for (const [at, reason] of reasons.entries()) {
    if (reason !== undefined) say(`${kinds[at]} cannot be used: ${reason}`);
  }
  const ready = kinds.filter((_, at) => reasons[at] === undefined);
  if (ready.length > 0) return ready;
  throw new CommandFailed(
    "No agent could be installed. The demo needs the packages of opencode, Claude Code or Codex from npm's registry.",
  );
}

function makeProject(path: string): void {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "README.md"), "# Widget\n");
  const author = ["-c", "user.name=Demo", "-c", "user.email=demo@demo.example"];
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", path, ...author, ...args], { stdio: "ignore" });
  try {
    git("init", "--quiet", "--initial-branch=main");
    git("add", ".");
    git("commit", "--quiet", "--message=first");
  } catch (cause) {
    throw new CommandFailed(`The demo needs git: ${(cause as Error).message}`);
  }
}

/** Ends the agents of the demo's host, which outlive its daemon. */
async function endAgents(data: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const state = hostStateOf(data);
    const own = listAgentProcesses().filter(({ startId }) => isOwn(state, startId));
    if (own.length === 0 || Date.now() > deadline) return;
    for (const { pid } of own) signalProcess(pid, "SIGKILL");
    await pause(50);
  }
}

function isOwn(state: string, startId: string): boolean {
  try {
    return isStartOf(state, startId);
  } catch {
    // The host was never placed.
    return false;
  }
}
