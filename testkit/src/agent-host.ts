// A host with the real daemon and real agents. A test can kill the daemon and the agents' processes, and
// inspect the files and processes that they leave.
import { join } from "node:path";
import type { AgentKind } from "@hawser/contract";
import type { Caller } from "./caller.ts";
import { runDaemon, startHost, type TestHost } from "./host.ts";
import { endProcesses, listProcesses, type RunningProcess } from "./processes.ts";
import { stopProcess } from "./stop-process.ts";

export interface AgentHost extends AsyncDisposable {
  instanceId: string;
  /** The folder of projects that the host's policy allows, and a repository in it. */
  root: string;
  repository: string;
  /** Path of the daemon's journal. Another process may open it while the daemon does not run. */
  journalFile: string;
  log: Record<string, unknown>[];
  /** Kills the daemon with SIGKILL. The processes that it started keep running. */
  kill(): Promise<void>;
  start(): void;
  /** The agent's running processes: one server, or one process for each session in a turn. */
  agents(kind: AgentKind): RunningProcess[];
  /** The agents' processes, and every process that they started. */
  processes(): RunningProcess[];
}

/** The host connects to `serverUrl`, which may be a proxy. The host is online when this returns. */
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
      // An agent's server outlives its daemon on purpose, and no later daemon uses it here.
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

/** Finds agents' processes by HAWSER_AGENT in their environment, or by their working directory. */
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
