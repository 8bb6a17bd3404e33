// A host with the real daemon and real agents whose processes can be killed: the daemon, and what it has
// started. What they leave on the disk and among the processes can be looked at.
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { AgentKind } from "@hawser/contract";
import type { Caller } from "./caller.ts";
import { runDaemon, startHost, type TestHost } from "./host.ts";
import { stopProcess } from "./stop-process.ts";

export interface HostProcess {
  pid: number;
  command: string;
}

export interface AgentHost extends AsyncDisposable {
  instanceId: string;
  /** The folder of projects that its policy names, and a repository in it. */
  root: string;
  repository: string;
  /** Its journal; another process may open it while the daemon is dead. */
  journalFile: string;
  log: Record<string, unknown>[];
  /** Ends the daemon without a word of good-bye. What it started goes on. */
  kill(): Promise<void>;
  start(): void;
  /** The agent's own programs that live: a server, or one for each session at work. */
  agents(kind: AgentKind): HostProcess[];
  /** All that agents of this host have started, they themselves included. */
  processes(): HostProcess[];
}

/** `serverUrl` may lead through a proxy; it is where the host dials. Online when this returns. */
export async function startAgentHost(
  caller: Caller,
  serverUrl: string,
  directory: string,
  about: { name: string; modelUrl: string; agents: readonly AgentKind[] },
): Promise<AgentHost> {
  const first = await startHost(caller, serverUrl, directory, about);
  const { instanceId, root, repository, stateDirectory, environment } = first;
  const log = [...first.log];
  let daemon: Pick<TestHost, "pid" | "process" | "log"> = first;
  const processes = () => processesOf(directory, daemon.pid);
  return {
    instanceId,
    root,
    repository,
    journalFile: join(stateDirectory, `journal-${instanceId}.sqlite`),
    log,
    kill: () => stopProcess(daemon.process, "SIGKILL"),
    start() {
      log.push(...daemon.log);
      daemon = runDaemon(stateDirectory, environment);
    },
    agents: (kind) => processes().filter((each) => isAgent(kind, each)),
    processes,
    async [Symbol.asyncDispose]() {
      await stopProcess(daemon.process);
      // A server outlives its daemon on purpose; nobody takes it up again here.
      for (const { pid } of processes()) endProcess(pid);
    },
  };
}

const programs: Record<AgentKind, RegExp> = {
  opencode: /opencode\S* serve\b/,
  claude_code: /claude\S* .*--output-format stream-json\b/,
  codex: /codex\S* .*\bapp-server\b/,
};

export const isAgent = (kind: AgentKind, { command }: HostProcess) => programs[kind].test(command);

/** Kills a process that an agent host has listed. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

/** Those that agents started: by the mark in their environment, or by where they work. */
function processesOf(directory: string, daemonPid: number): HostProcess[] {
  const found: HostProcess[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!pid || pid === daemonPid || pid === process.pid) continue;
    try {
      const about = `/proc/${name}`;
      const environment = readFileSync(join(about, "environ"), "utf8");
      const isMarked = environment.includes("HAWSER_AGENT=") && environment.includes(directory);
      if (!isMarked && !readlinkSync(join(about, "cwd")).startsWith(directory)) continue;
      const command = readFileSync(join(about, "cmdline"), "utf8").replaceAll("\0", " ").trim();
      // A process that has ended and was not fetched by its parent has no command line any more.
      if (command) found.push({ pid, command });
    } catch {
      // It ended while it was looked at, or belongs to somebody else.
    }
  }
  return found;
}
