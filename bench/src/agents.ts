// The group `agents`: the cost of each agent kind through Hawser, beside its bare program.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { AgentKind } from "@hawser/contract";
import { agentPids } from "@hawser/testkit/agent-pids.ts";
import { forMeasuring } from "@hawser/testkit/postgres.ts";
import { startWorld } from "@hawser/testkit/world.ts";
import { startBareAgent } from "./bare-agents.ts";
import { figureOf, type Figure, type Goal } from "./figure.ts";
import { answered, measureFirstText } from "./first-text.ts";
import { say } from "./stage.ts";

export async function* measureAgents(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  for (const kind of AgentKind.options) {
    yield* measureFirstText(`agents_first_text_${kind}`, kind, quick);
    yield* measureMemory(kind, quick);
  }
}

const goalsOf = (kind: AgentKind, count: number) =>
  ({
    daemon: {
      name: `agents_daemon_${kind}`,
      unit: "MB",
      goal: 5,
      direction: "at most",
      held: "ours",
      meaning:
        `What the daemon's resident memory grows by for each of ${count} live sessions of ${kind} that ` +
        "have had a turn, after the first; beside it the daemon as a whole.",
    },
    agent: {
      name: `agents_memory_${kind}`,
      unit: "MB",
      goal: 1.25,
      direction: "at most",
      meaning:
        `Memory of ${kind}'s own processes with ${count} live sessions, shared pages counted once, ` +
        "beside as many sessions of the bare program.",
    },
  }) satisfies Record<string, Goal>;

/** The first session includes shared costs: the agent's start, and the compilation of our code. */
async function* measureMemory(kind: AgentKind, quick: boolean): AsyncGenerator<[Figure, Goal]> {
  const count = quick ? 2 : 11;
  const goals = goalsOf(kind, count - 1);
  await using world = await startWorld({ hosts: 1, agents: [kind], postgres: forMeasuring });
  const host = world.hosts[0]!;
  await using agent = await startBareAgent(kind, world.model!.url);
  say(goals.daemon.name);
  let first = 0;
  for (let i = 0; i < count; i++) {
    const { sessionId } = await world.caller.start_session({
      instanceId: host.instanceId,
      agentKind: kind,
      directory: host.repository,
      title: `bench ${i}`,
    });
    await world.caller.send_prompt({ sessionId, text: answered });
    const waited = await world.caller.wait_for_session({ sessionId, timeoutSeconds: 25 });
    if (waited.turnOutcome !== "completed") throw new Error(`The turn is ${waited.turnOutcome}.`);
    await (await agent.open()).ask(answered);
    if (i === 0) first = resident(host.pid);
  }
  await sleep(quick ? 0 : 2_000);
  const all = resident(host.pid);
  const daemon = { ours: (all - first) / (count - 1), bare: all };
  yield [figureOf(goals.daemon, [daemon]), goals.daemon];
  const ours = proportional(agentPids(host.environment["HOME"]!));
  const bare = proportional(agent.pids());
  yield [figureOf(goals.agent, [{ ours, bare }]), goals.agent];
}

function resident(pid: number): number {
  return read(`/proc/${pid}/status`, /^VmRSS:\s+(\d+)/m);
}

function proportional(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + read(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+)/m), 0);
}

const read = (file: string, value: RegExp) =>
  Number(value.exec(readFileSync(file, "utf8"))![1]) / 1024;
