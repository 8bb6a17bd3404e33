// S7: the same load on one node and on three: more nodes must not cost PostgreSQL more transactions. Then
// three nodes write their bookkeeping for the same keys at the same moments, which must not deadlock.
import { setTimeout as sleep } from "node:timers/promises";
import type { LightHosts } from "@hawser/testkit/light-hosts.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import type { World } from "@hawser/testkit/world.ts";
import { freezeProcess } from "@hawser/testkit/processes.ts";
import { randomFrom } from "../fuzz/random.ts";
import { atLeast, atMost, reported, type Figure } from "./figure.ts";
import { readCounters, type Counters } from "./meter.ts";
import { addLightHosts, makeViewerKeys, openScaleWorld, say } from "./stage.ts";

export interface NodeGrowthSize {
  hosts: number;
  keys: number;
  seconds: number;
  callsPerSecond: number;
  entriesPerSecond: number;
  /** How often every key is used at every node, at the same time, for the deadlocks. */
  rounds: number;
}

export const nodeGrowthSizes: Record<"large" | "small", NodeGrowthSize> = {
  large: {
    hosts: 300,
    keys: 1_000,
    seconds: 60,
    callsPerSecond: 100,
    entriesPerSecond: 60,
    rounds: 8,
  },
  small: {
    hosts: 6,
    keys: 100,
    seconds: 2,
    callsPerSecond: 40,
    entriesPerSecond: 10,
    rounds: 1,
  },
};

/** The same choices of keys and hosts in every run. */
const seed = "node-growth";
/** One call in ten asks a host; the others read records. */
const commandEvery = 10;
/** How often nodes write which keys were used and what was read. */
const bookkeepingMs = 5_000;
/** PostgreSQL notices within this time that the connections of killed nodes are closed. */
const connectionsEndMs = 1_000;

export async function measureNodeGrowth(size: NodeGrowthSize): Promise<Figure[]> {
  const one = await measureLoad(1, size);
  const three = await measureLoad(3, size);
  const deadlocks = await countDeadlocks(size);
  return [
    atMost("node_growth_transactions_ratio", three.transactions / one.transactions, 1.1),
    atMost("node_growth_deadlocks", deadlocks, 0),
    atLeast("node_growth_answered_share", Math.min(one.answered, three.answered), 1),
    reported("node_growth_transactions_per_second_1_node", one.transactions / size.seconds),
    reported("node_growth_transactions_per_second_3_nodes", three.transactions / size.seconds),
  ];
}

/** Hosts report entries, and callers read and send commands. Each caller stays at one node. */
async function measureLoad(nodes: number, size: NodeGrowthSize) {
  await using world = await openScaleWorld({ nodes });
  await using fleets = new AsyncDisposableStack();
  const fleet: { hosts: LightHosts; instanceId: string; sessionId: string }[] = [];
  for (let node = 0; node < nodes; node++) {
    const count = Math.floor(((node + 1) * size.hosts) / nodes) - fleet.length;
    const hosts = fleets.use(await addLightHosts(world, count, node));
    for (const instanceId of hosts.instanceIds) {
      const [sessionId] = await insertSessions(world, world.organizations[0], { instanceId });
      fleet.push({ hosts, instanceId, sessionId: sessionId! });
    }
  }
  const callers = (await makeViewerKeys(world, size.keys)).map((key, index) =>
    world.callerFor(key, index % nodes),
  );
  const random = randomFrom(seed);
  const done = { calls: 0, failed: 0 };

  async function call(): Promise<void> {
    const { instanceId } = random.pick(fleet);
    const isCommand = ++done.calls % commandEvery === 0;
    const caller = isCommand ? world.caller : random.pick(callers);
    const action = isCommand ? "refresh_instance" : "get_instance";
    const status = await caller.try(action, { instanceId }).then(
      (reply) => reply.status,
      () => 0,
    );
    if (status !== 200) done.failed += 1;
  }
  async function append(): Promise<void> {
    const { hosts, instanceId, sessionId } = random.pick(fleet);
    await hosts.append(instanceId, sessionId, ["The test failed because the cart was empty."]);
  }

  const before = await readCounters(world);
  await Promise.all([
    paced(size.callsPerSecond, size.seconds, call),
    paced(size.entriesPerSecond, size.seconds, append),
  ]);
  const { transactions } = await countersAtTheEnd(world);
  const spent = { transactions: transactions - before.transactions };
  say(`${nodes} nodes: ${JSON.stringify({ ...done, ...spent })}`);
  return { ...spent, answered: 1 - done.failed / done.calls };
}

/** Uses every key at each of three nodes, in a different order at each, before they write what was used. */
async function countDeadlocks({ keys: count, rounds }: NodeGrowthSize): Promise<number> {
  await using world = await openScaleWorld({ nodes: 3 });
  const keys = await makeViewerKeys(world, count);
  await alignBookkeeping(world);
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    await Promise.all(
      world.nodes.map(async (_node, node) => {
        const waiting = shuffled(keys, `${seed} ${round} ${node}`);
        const work = async () => {
          for (let key = waiting.pop(); key; key = waiting.pop()) {
            await world.callerFor(key, node).whoami({});
          }
        };
        await Promise.all(Array.from({ length: 8 }, work));
      }),
    );
    await sleep(Math.max(0, bookkeepingMs - (performance.now() - startedAt)));
  }
  const { deadlocks } = await countersAtTheEnd(world);
  say(`${rounds} rounds of ${count} keys at 3 nodes: ${deadlocks} deadlocks`);
  return deadlocks;
}

/** Freezes all nodes for longer than their interval, so that from then on all write at the same moments. */
async function alignBookkeeping(world: World): Promise<void> {
  for (const { pid } of world.nodes) freezeProcess(pid);
  await sleep(bookkeepingMs + 200);
  for (const { pid } of world.nodes) process.kill(pid, "SIGCONT");
}

function shuffled(keys: readonly string[], seedOfOrder: string): string[] {
  const random = randomFrom(seedOfOrder);
  return keys
    .map((key) => ({ key, at: random.below(2 ** 31) }))
    .sort((a, b) => a.at - b.at)
    .map(({ key }) => key);
}

/**
 * Kills the nodes, and then reads the counters: a connection that is closed has added all of its
 * transactions to the statistics. Nodes that stop properly would make more.
 */
async function countersAtTheEnd(world: World): Promise<Counters> {
  await Promise.all(world.nodes.map((node) => stopProcess(node.process, "SIGKILL")));
  await sleep(connectionsEndMs);
  return readCounters(world);
}

/** Starts work at this rate, whether or not earlier work has ended, so that every run has the same load. */
async function paced(perSecond: number, seconds: number, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  const started: Promise<void>[] = [];
  while (started.length < perSecond * seconds) {
    const due = ((performance.now() - startedAt) / 1000) * perSecond;
    while (started.length < Math.min(due, perSecond * seconds)) started.push(work());
    await sleep(10);
  }
  await Promise.all(started);
}
