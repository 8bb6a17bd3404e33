// The figures of many sessions: 1,000 on 100 light hosts, which write 500 entries a second for a minute
// through their journals. Measured are the delay of an entry at a viewer, and the node's memory.
import { setTimeout as sleep } from "node:timers/promises";
import { readFileSync } from "node:fs";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { sessionStream, startViewers } from "@hawser/testkit/viewers.ts";
import { figureOf, type Figure, type Goal } from "./figure.ts";
import { addLightHosts, openLinkWorld } from "./link-stage.ts";
import { say } from "./stage.ts";

const goals = {
  late: {
    name: "session_event_p99",
    unit: "ms",
    goal: 1_000,
    direction: "at most",
    held: "ours",
    meaning:
      "From an entry's writing on its host to its viewer, 99th percentile, 1,000 sessions on 100 " +
      "light hosts at 500 entries a second, each session watched; beside it the median.",
  },
  memory: {
    name: "session_node_memory",
    unit: "MB",
    goal: 1_000,
    direction: "at most",
    held: "ours",
    meaning: "The node's resident memory at the end of that; beside it, before its first viewer.",
  },
} satisfies Record<string, Goal>;

export async function* measureManySessions(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  const hostCount = quick ? 10 : 100;
  const seconds = quick ? 1 : 60;
  const perHost = 10;
  await using world = await openLinkWorld(0);
  const { pid } = world.nodes[0]!;
  await using hosts = await addLightHosts(world, hostCount);
  const sessions: { instanceId: string; sessionId: string }[] = [];
  for (const instanceId of hosts.instanceIds) {
    const made = await insertSessions(world, world.organizations[0], {
      instanceId,
      count: perHost,
    });
    sessions.push(...made.map((sessionId) => ({ instanceId, sessionId })));
  }
  const before = megabytes(pid);
  await using viewers = startViewers();
  const { key } = world.caller;
  const streams = sessions.map(({ sessionId }) => ({
    url: sessionStream(world.baseUrl, sessionId),
    key,
  }));
  for (let i = 0; i < streams.length; i += 50) await viewers.open(streams.slice(i, i + 50));
  say(`${goals.late.name}: ${sessions.length} sessions watched`);

  const perSecond = sessions.length / 2;
  const everyMs = 20;
  const perTick = (perSecond * everyMs) / 1_000;
  const startedAt = performance.now();
  let written = 0;
  const writing: Promise<unknown>[] = [];
  while (performance.now() - startedAt < seconds * 1_000) {
    const due = Math.floor(((performance.now() - startedAt) / everyMs) * perTick) - written;
    for (let i = 0; i < due; i++) {
      const { instanceId, sessionId } = sessions[written++ % sessions.length]!;
      writing.push(hosts.append(instanceId, sessionId, [`written ${Date.now()}`]));
    }
    await sleep(everyMs);
  }
  await Promise.all(writing);
  await viewers.frames({ name: "entry", count: written, patienceMs: 30_000 });
  // Each entry contains its timestamp twice, as message id and as text.
  const delays = await viewers.delays();
  const at = (share: number) => delays[Math.floor(delays.length * share)] ?? 0;
  say(`  ${written} entries, ${delays.length / 2} seen: median ${at(0.5)} ms, p99 ${at(0.99)} ms`);
  const late = { ours: at(0.99), bare: Math.max(at(0.5), 1) };
  yield [figureOf(goals.late, [late]), goals.late];
  yield [figureOf(goals.memory, [{ ours: megabytes(pid), bare: before }]), goals.memory];
}

function megabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024;
}
