// The agents' processes that belong to one host of a test, known by the home they were started with.
// They outlive their daemon on purpose, so whoever ends a host ends them too.
import { readFileSync, readdirSync } from "node:fs";

/** Every process that a daemon with this home started as an agent, and what those started. */
export function agentPids(home: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const environment = environmentOf(pid);
      return (
        environment.includes(`HOME=${home}`) &&
        environment.some((entry) => entry.startsWith("HAWSER_AGENT="))
      );
    });
}

/** The agents' servers among them. */
export function agentServerPids(home: string): number[] {
  return agentPids(home).filter((pid) => commandLineOf(pid).includes("serve"));
}

export function endAgents(home: string): void {
  for (const pid of agentPids(home)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
}

/** Empty for one that has ended meanwhile, and for one that is only waiting to be collected. */
function environmentOf(pid: number): string[] {
  return read(`/proc/${pid}/environ`);
}

function commandLineOf(pid: number): string[] {
  return read(`/proc/${pid}/cmdline`);
}

function read(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\0");
  } catch {
    return [];
  }
}
