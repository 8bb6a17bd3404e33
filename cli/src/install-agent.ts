// Installs an agent on a host of the service, with its progress. An install that runs already is joined.
import { setTimeout as pause } from "node:timers/promises";
import { Refused, type Client } from "@hawser/client";

export type Kind = "opencode" | "claude_code" | "codex";

export interface AgentInstall {
  client: Client;
  instanceId: string;
  kind: Kind;
  say: (sentence: string) => void;
  signal: AbortSignal;
}

const patienceMs = 600_000;
/** A program that was just installed is tried before it is shown as ready. */
const trialMs = 15_000;
const pollMs = 300;
const sayEveryMs = 2_000;

/** Returns undefined when the agent is ready, else the reason why it is not. Throws if aborted. */
export async function installAgent(install: AgentInstall): Promise<string | undefined> {
  const { client, instanceId, kind, say, signal } = install;
  const refused = await order(install);
  if (refused !== undefined) return refused;
  const deadline = performance.now() + patienceMs;
  let saidAt = -Infinity;
  let installedAt = Infinity;
  for (; ; await pause(pollMs, undefined, { signal })) {
    const { agents, operations } = await client.get_instance({ instanceId }, { signal });
    const agent = agents.find((each) => each.kind === kind);
    if (agent?.ready) return undefined;
    const operation = operations
      .filter(({ type, subject }) => type === "install_agent" && subject.startsWith(`${kind} `))
      .toSorted((one, two) => one.startedAt.localeCompare(two.startedAt))
      .at(-1);
    const now = performance.now();
    if (operation?.state === "failed") return operation.step;
    if (agent?.installed) {
      installedAt = Math.min(installedAt, now);
      if (now - installedAt > trialMs)
        return agent.problems.map(({ message }) => message).join(" ");
    }
    if (now > deadline) return `It was not installed after ${patienceMs / 60_000} minutes.`;
    if (operation?.state !== "running" || now - saidAt < sayEveryMs) continue;
    saidAt = now;
    const { subject, step, percent } = operation;
    say(`Installing ${subject}: ${step}${percent === null ? "" : `, ${percent} %`} …`);
  }
}

/** Returns why the host refuses. */
async function order({
  client,
  instanceId,
  kind,
  signal,
}: AgentInstall): Promise<string | undefined> {
  try {
    if (kind === "opencode") await client.update_opencode({ instanceId }, { signal });
    else await client.install_agent_kind({ instanceId, kind }, { signal });
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}
