// `hawserd status`: the daemon's state, as it last recorded it. Sends no requests. The exit code is 0 if the
// host is online.
import { listAgentProcesses } from "../drivers/agent-processes.ts";
import { isStartOf } from "../drivers/start-id.ts";
import { readFingerprint } from "../identities/sealing.ts";
import { createPolicy } from "../policy/policy.ts";
import { daemonVersion } from "../release.ts";
import { runningDaemon } from "../state/running.ts";
import type { State } from "../state/state.ts";
import { readUpdates } from "../updates/record.ts";
import { sentence } from "../updates/updates.ts";
import type { CommandLine } from "./command.ts";
import { print } from "./print.ts";

export const status: CommandLine = {
  usage: "status [--json]",
  summary:
    "prints the link with its reason, the version, the roots and how many agents run; exit code 0 if online",
  needsState: true,
  options: { json: { type: "boolean" } },
  run({ state, options: { json } }) {
    const link = lookAtLink(state);
    const agents = countAgents(state);
    if (json) {
      const { isOnline, sentence, warning = null } = link;
      const daemonPid = runningDaemon(state) ?? null;
      console.log(
        JSON.stringify({ isOnline, sentence, warning, version: daemonVersion, daemonPid, agents }),
      );
      return isOnline ? 0 : 1;
    }
    print(link.sentence);
    if (link.warning) print(`Warning: ${link.warning}`);
    const { addressProblem } = state.readStatus() ?? {};
    if (typeof addressProblem === "string") print(`Warning: ${addressProblem}`);
    print(`Version: ${daemonVersion}`);
    const { roots, problems } = createPolicy(state.policyPath).read();
    const [first = "none; add one with: hawserd roots add DIR", ...others] = roots;
    print(`Roots:   ${first}`);
    for (const root of others) print(`         ${root}`);
    for (const { message } of problems) print(message);
    if (agents > 0) print(`Agents:  ${agents} running; they continue when the daemon stops`);
    const fingerprint = readFingerprint(state.sealingKeyPath);
    if (fingerprint !== undefined) print(`Key for linked secrets: ${fingerprint}`);
    const { failed } = readUpdates(state.directory);
    if (failed) print(sentence(failed));
    if (!link.isOnline) print("To see what is wrong: hawserd doctor");
    return link.isOnline ? 0 : 1;
  },
};

/**
 * How many agents of this daemon run now, whether or not it runs itself. An agent and its child processes
 * count once. Agents of other Unix users, on a separated host, are not counted.
 */
function countAgents({ directory }: State): number {
  const starts = listAgentProcesses()
    .map(({ startId }) => startId)
    .filter((startId) => isStartOf(directory, startId));
  return new Set(starts).size;
}

interface LinkSeen {
  /** Whether the host can be used: it is linked, and the control plane finds it. */
  isOnline: boolean;
  sentence: string;
  warning?: string;
}

/** The state of the link, in one sentence, with the daemon's warning if there is one. */
export function lookAtLink(state: State): LinkSeen {
  const credentials = state.readCredentials();
  if (!credentials) return { isOnline: false, sentence: "This host is not paired." };
  const paired = `Paired with ${credentials.serverUrl} as ${credentials.instanceId}.`;
  const pid = runningDaemon(state);
  const last = state.readStatus();
  if (pid === undefined) {
    return { isOnline: false, sentence: `${paired} The daemon is not running.` };
  }
  // The file outlives the daemon that wrote it.
  const isCurrent = last?.["supervisorPid"] === pid;
  if (!isCurrent || last["instanceId"] !== credentials.instanceId) {
    return { isOnline: false, sentence: `${paired} The daemon, process ${pid}, is starting.` };
  }
  const reason = typeof last["reason"] === "string" ? `: ${last["reason"]}` : "";
  const warning = typeof last["warning"] === "string" ? last["warning"] : undefined;
  return {
    isOnline: last["state"] === "online" && warning === undefined,
    ...(warning !== undefined && { warning }),
    sentence: `${paired} The daemon runs as process ${String(last["pid"])} under supervisor ${pid}; its link has been ${String(last["state"])} since ${String(last["since"])}${reason}`,
  };
}
