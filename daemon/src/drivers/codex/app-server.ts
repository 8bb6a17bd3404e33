// The process `codex app-server` of one codex home: its start, its handshake and its end. The process ends
// when its input is closed, so it does not survive a daemon that is killed.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { childEnvironment, type Environment } from "../../environment.ts";
import { within } from "../../pause.ts";
import { signalGroup, signalProcess } from "../../signal-process.ts";
import { listAgentProcesses } from "../agent-processes.ts";
import { AgentNotReady } from "../driver.ts";
import { createConnection, type Connection, type Listener } from "./connection.ts";
import { gateCommand, openGate, type Gatekeeper } from "./gate.ts";
import type { Answers, Calls } from "./protocol.ts";
import { processSettings } from "./settings.ts";

export interface AppServer extends Pick<Connection, "answer" | "refuse"> {
  /** Rejects with CallRefused, CallLate or ConnectionEnded. */
  call<Name extends keyof Calls>(
    method: Name,
    params: Calls[Name],
    deadlineMs: number,
  ): Promise<Answers[Name]>;
  /** Set in the environment of the process and of every command that it runs. */
  startId: string;
  pid: number;
  /** Resolves when the process has ended, with a sentence that says how. */
  ended: Promise<string>;
  hasEnded(): boolean;
  /** Ends the process. One that is `hung` gets less time for it. */
  stop(state?: "hung"): Promise<void>;
}

export interface AppServerOptions {
  program: string;
  /** CODEX_HOME: the directory of login, settings and transcripts. */
  home: string;
  startId: string;
  /** For temporary files of the process; its commands have another one. */
  temporary: string;
  /** Added to the environment that every child process gets. */
  environment: Environment;
  /** The address of a gateway that is asked instead of the maker's service. */
  gateway?: string | undefined;
}

const bash = "/bin/bash";
const handshakeMs = 15_000;
/** Codex ends when its input is closed, but first completes a renewal of its login, which would be lost. */
const stopMs = 15_000;
const stopHungMs = 5_000;
const maxErrorOutput = 4_000;

/** Resolves when the process accepts calls. Throws AgentNotReady. */
export async function startAppServer(
  { program, home, startId, temporary, environment, gateway }: AppServerOptions,
  listener: Listener,
  keeper: Gatekeeper,
): Promise<AppServer> {
  if (!existsSync(bash)) {
    throw new AgentNotReady(`Codex needs ${bash} for its commands and its hook. Install bash.`);
  }
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const gate = await openGate(keeper);
  const child = spawn(program, ["app-server", ...processSettings(startId, gateway)], {
    cwd: home,
    env: childEnvironment({
      ...environment,
      CODEX_HOME: home,
      TMPDIR: temporary,
      HAWSER_AGENT: startId,
      HAWSER_GATE: gate.variable,
      // Commands are read as bash reads them. Codex 0.166.0 does not follow this variable (decision 0036).
      SHELL: bash,
    }),
    // Its own process group, so that its child processes can be ended with it.
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let errorOutput = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errorOutput = (errorOutput + chunk).slice(-maxErrorOutput);
  });
  const connection = createConnection(child.stdin, child.stdout, listener);
  let endReason: string | undefined;
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  const end = (reason: string) => {
    if (endReason !== undefined) return;
    endReason = reason;
    gate.close();
    signalGroup(child.pid, "SIGKILL");
    killLeftovers(startId);
    connection.end(reason);
    resolve(reason);
  };
  child.once("error", (error) => end(`Codex did not start: ${error.message}.`));
  child.once("exit", (code, signal) => {
    // Reads the remaining output before the end is reported.
    const finish = () => end(`Codex ended ${signal ? `by ${signal}` : `with code ${code}`}.`);
    const late = setTimeout(finish, 500);
    child.stdout.once("close", () => {
      clearTimeout(late);
      finish();
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
    hasEnded: () => endReason !== undefined,
    async stop(state) {
      child.stdin.end();
      if (await within(state === "hung" ? stopHungMs : stopMs, ended)) return;
      signalGroup(child.pid, "SIGKILL");
      await within(stopHungMs, ended);
    },
  };
  try {
    await server.call(
      "initialize",
      {
        clientInfo: { name: "hawser", title: "Hawser", version: "1" },
        capabilities: { experimentalApi: true, requestAttestation: false },
      },
      handshakeMs,
    );
    connection.notify("initialized");
    await checkGate(server, home);
    return server;
  } catch (error) {
    await server.stop();
    throw new AgentNotReady(`${(error as Error).message} ${lastLine(errorOutput)}`.trim(), {
      cause: error,
    });
  }
}

/** Codex skips a hook that it does not trust, and says nothing about it. */
async function checkGate(server: AppServer, home: string): Promise<void> {
  const { data } = await server.call("hooks/list", { cwds: [home] }, handshakeMs);
  const gate = data.flatMap(({ hooks }) => hooks).find((hook) => hook.command === gateCommand);
  if (gate?.enabled && gate.trustStatus === "trusted") return;
  throw new Error(
    `Codex would not ask the daemon about its calls (the hook is ${gate?.trustStatus ?? "missing"}), so it is not used. Install the version that this host's daemon is made for.`,
  );
}

/** Commands outside the sandbox survive the process that started them. */
function killLeftovers(startId: string): void {
  for (const left of listAgentProcesses()) {
    if (left.startId === startId) signalProcess(left.pid, "SIGKILL");
  }
}

/** The last line of the output, without colours. */
function lastLine(output: string): string {
  // eslint-disable-next-line no-control-regex -- colours begin with a control character
  const lines = output.replaceAll(/\u001b\[[0-9;]*m/g, "").split("\n");
  return lines.findLast((line) => line.trim() !== "")?.slice(0, 300) ?? "";
}
