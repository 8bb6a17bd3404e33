// The agents' processes of one host of a test, found by the home that they were started with. They outlive
// their daemon on purpose, so whoever ends a host ends them too.
import { endProcesses, listProcesses, type RunningProcess } from "./processes.ts";

/** Every process that a daemon with this home started as an agent, and what those started. */
const agentProcesses = (home: string): RunningProcess[] =>
  listProcesses().filter(
    ({ environment }) =>
      environment.includes(`HOME=${home}`) &&
      environment.some((entry) => entry.startsWith("HAWSER_AGENT=")),
  );

export const agentPids = (home: string): number[] => agentProcesses(home).map(({ pid }) => pid);

/** The agents' servers only. */
export const agentServerPids = (home: string): number[] =>
  agentProcesses(home)
    .filter(({ command }) => command.split(" ").includes("serve"))
    .map(({ pid }) => pid);

/** Every agent's process has ended when this returns. */
export const endAgents = (home: string): void => endProcesses(() => agentProcesses(home));
