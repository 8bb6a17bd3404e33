// The process `codex app-server` of one codex home: its start, its greeting and its end. It ends by
// itself when its input is closed, so it does not outlive a daemon that was killed.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { childEnvironment, type Environment } from "../../environment.ts";
import { within } from "../../pause.ts";
import { listAgentProcesses } from "../agent-processes.ts";
import { AgentNotReady } from "../driver.ts";
import { openConnection, type Connection, type Listener } from "./connection.ts";
import type { Answers, Calls } from "./protocol.ts";
import { processSettings } from "./settings.ts";

export interface AppServer extends Pick<Connection, "answer" | "refuse"> {
  /** Rejects with CallRefused, CallLate, or with ConnectionEnded. */
  call<Name extends keyof Calls>(
    method: Name,
    params: Calls[Name],
    deadlineMs: number,
  ): Promise<Answers[Name]>;
  /** In the environment of the process and of every command it runs. */
  startId: string;
  pid: number;
  /** How it ended; stays open while it runs. */
  ended: Promise<string>;
  hasEnded(): boolean;
  stop(): Promise<void>;
}

export interface AppServerPlace {
  program: string;
  /** Where codex keeps login, settings and transcripts: CODEX_HOME. */
  home: string;
  startId: string;
  /** On top of what every child is given. */
  environment: Environment;
}

const greetingMs = 15_000;
const stopMs = 5_000;
const mostSaid = 4_000;

/** Resolves when it takes calls. Throws AgentNotReady. */
export async function startAppServer(
  { program, home, startId, environment }: AppServerPlace,
  listener: Listener,
): Promise<AppServer> {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const child = spawn(program, ["app-server", ...processSettings(startId)], {
    cwd: home,
    env: childEnvironment({ ...environment, CODEX_HOME: home, HAWSER_AGENT: startId }),
    // A group of its own, so that its helpers end with it.
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said = (said + chunk).slice(-mostSaid);
  });
  const connection = openConnection(child.stdin, child.stdout, listener);
  let how: string | undefined;
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  const end = (reason: string) => {
    if (how !== undefined) return;
    how = reason;
    killGroup(child.pid);
    killLeft(startId);
    connection.end(reason);
    resolve(reason);
  };
  child.once("error", (error) => end(`Codex did not start: ${error.message}.`));
  child.once("exit", (code, signal) => {
    // What it wrote last is read before its end is told.
    const tell = () => end(`Codex ended ${signal ? `by ${signal}` : `with code ${code}`}.`);
    const late = setTimeout(tell, 500);
    child.stdout.once("close", () => {
      clearTimeout(late);
      tell();
    });
  });

  const server: AppServer = {
    startId,
    pid: child.pid ?? 0,
    call: (method, params, deadlineMs) =>
      connection.call(method, params, deadlineMs) as Promise<Answers[typeof method]>,
    answer: connection.answer,
    refuse: connection.refuse,
    ended,
    hasEnded: () => how !== undefined,
    async stop() {
      child.stdin.end();
      if (await within(stopMs, ended)) return;
      killGroup(child.pid);
      await within(stopMs, ended);
    },
  };
  try {
    await server.call(
      "initialize",
      {
        clientInfo: { name: "hawser", title: "Hawser", version: "1" },
        capabilities: { experimentalApi: true, requestAttestation: false },
      },
      greetingMs,
    );
    connection.notify("initialized");
    return server;
  } catch (error) {
    await server.stop();
    throw new AgentNotReady(`${(error as Error).message} ${lastWords(said)}`.trim(), {
      cause: error,
    });
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left.
  }
}

/** Commands outside the sandbox outlive a process that was killed. */
function killLeft(startId: string): void {
  for (const left of listAgentProcesses()) {
    if (left.startId !== startId) continue;
    try {
      process.kill(left.pid, "SIGKILL");
    } catch {
      // It went by itself.
    }
  }
}

/** The last line it wrote, without colours. */
function lastWords(said: string): string {
  // eslint-disable-next-line no-control-regex -- colours begin with a control character
  const lines = said.replaceAll(/\u001b\[[0-9;]*m/g, "").split("\n");
  return lines.findLast((line) => line.trim() !== "")?.slice(0, 300) ?? "";
}
