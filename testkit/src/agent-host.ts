// A host with the real daemon and real agents whose processes can be killed: the daemon, and what it has
// started. What they leave on the disk and among the processes can be looked at.
import { join } from "node:path";
import type { AgentKind } from "@hawser/contract";
import type { Caller } from "./caller.ts";
import { runDaemon, startHost, type TestHost } from "./host.ts";
import { endProcesses, listProcesses, type RunningProcess } from "./processes.ts";
import { stopProcess } from "./stop-process.ts";

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
  agents(kind: AgentKind): RunningProcess[];
  /** All that agents of this host have started, they themselves included. */
  processes(): RunningProcess[];
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
  const processes = () => agentProcesses(directory, daemon.pid);
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
      endProcesses(processes);
    },
  };
}

const programs: Record<AgentKind, RegExp> = {
  opencode: /opencode\S* serve\b/,
  claude_code: /claude\S* .*--output-format stream-json\b/,
  codex: /codex\S* .*\bapp-server\b/,
};

export const isAgent = (kind: AgentKind, { command }: RunningProcess) =>
  programs[kind].test(command);

/** What agents started: by the mark in their environment, or by their working directory. */
function agentProcesses(directory: string, daemonPid: number): RunningProcess[] {
  return listProcesses().filter(({ pid, command, environment, workingDirectory }) => {
    const isMarked =
      environment.some((entry) => entry.startsWith("HAWSER_AGENT=")) &&
      environment.some((entry) => entry.includes(directory));
    return (
      pid !== daemonPid && command !== "" && (isMarked || workingDirectory.startsWith(directory))
    );
  });
}
