// The figures of many hosts: how commands fare among them, how soon all are back after their
// nats-server died, and the memory each costs. Beside the same number of bare clients straight on a
// nats-server of their own.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { NatsServer } from "@hawser/testkit/nats.ts";
import { until } from "@hawser/testkit/until.ts";
import { startBareLink } from "./bare-link.ts";
import { figureOf, median, type Figure, type Goal } from "./figure.ts";
import {
  addLightHosts,
  commandJob,
  countOnline,
  openLinkWorld,
  verifyCommand,
} from "./link-stage.ts";
import { inTurns, millisecondsRound } from "./rounds.ts";
import { say } from "./stage.ts";
import { startLoadGenerator } from "./workers.ts";

const goals = {
  memory: {
    name: "link_hosts_memory",
    unit: "KiB",
    goal: 40,
    direction: "at most",
    held: "ours",
    meaning:
      "What each further host adds to the resident memory of the node that is its edge, garbage " +
      "collected; beside it, for reference, what a bare client adds to its nats-server.",
  },
  p99: {
    name: "link_hosts_command_p99",
    unit: "ms",
    goal: 3,
    direction: "at most",
    meaning:
      "99th percentile of refresh_instance among all hosts, 16 in flight, beside the bare program " +
      "that does the same work with as many bare clients.",
  },
  back: {
    name: "link_hosts_back",
    unit: "ms",
    goal: 1.5,
    direction: "at most",
    meaning:
      "From kill -9 of nats-server until every host is back through the edge and has said hello, " +
      "beside bare clients that reconnect straight, spread over the same window.",
  },
} satisfies Record<string, Goal>;

const inFlight = 16;
const collectGarbage = new URL("./collect-garbage.ts", import.meta.url).href;
const longestReturnMs = 180_000;

export async function* measureLinkHosts(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  const count = quick ? 40 : 2_000;
  const rounds = quick ? 1 : 9;
  // Memory is counted from here on, because the first connections need extra memory once.
  const firstCount = count / 10;
  await using world = await openLinkWorld(0, {
    NODE_OPTIONS: `--import ${collectGarbage}`,
    // 2,000 hosts return over the window of the bare clients, 4 s: nodes plan with 0.8 of the limit.
    HAWSER_LINKS_PER_SECOND: "625",
  });
  const { pid } = world.nodes[0]!;

  say(`${goals.memory.name}: ${count} hosts`);
  await using first = await addLightHosts(world, firstCount);
  const collect = () => void process.kill(pid, "SIGUSR2");
  const looks = quick ? 1 : 5;
  const oursBefore = await settledMemory(pid, looks, collect);
  const startedAt = performance.now();
  await using others = await addLightHosts(world, count - firstCount);
  say(`  hosts paired and online in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  const arrived = residentMemory(pid);
  const oursAfter = await settledMemory(pid, looks, collect);
  const instanceIds = [...first.instanceIds, ...others.instanceIds];

  await using bare = await startBareLink(world, instanceIds[0]!);
  await using bareFirst = await bare.addHosts(first.instanceIds);
  const bareBefore = await settledMemory(bare.nats.pid, looks);
  await using bareOthers = await bare.addHosts(others.instanceIds);
  const bareAfter = await settledMemory(bare.nats.pid, looks);
  say(
    `  node ${oursBefore} to ${oursAfter} KiB (${arrived} before its garbage was collected), ` +
      `nats-server ${bareBefore} to ${bareAfter} KiB`,
  );
  const added = count - firstCount;
  const memory = {
    ours: (oursAfter - oursBefore) / added,
    bare: (bareAfter - bareBefore) / added,
  };
  yield [figureOf(goals.memory, [memory]), goals.memory];

  await verifyCommand(world, instanceIds[0]!, bare.url);
  await using load = startLoadGenerator();
  say(goals.p99.name);
  const job = commandJob(world, instanceIds, inFlight);
  const seconds = quick ? 0.5 : 3;
  const p99s = await inTurns(
    rounds,
    async () => (await load.run({ ...job, seconds })).p99Ms,
    async () => (await load.run({ ...job, url: bare.url, seconds })).p99Ms,
    millisecondsRound,
  );
  const pings = await bare.ping({ instanceIds, inFlight, seconds });
  const p99 = pings[Math.floor(pings.length * 0.99)]!;
  say(`  request and reply over bare NATS alone: 99th percentile ${p99.toFixed(3)} ms`);
  yield [figureOf(goals.p99, p99s), goals.p99];

  say(goals.back.name);
  const online = async () => (await countOnline(first)) + (await countOnline(others));
  const bareOnline = async () => (await bareFirst.online()) + (await bareOthers.online());
  // Back-off grows with losses that follow each other quickly; a link counts as good after 5 s.
  const pauseMs = quick ? 0 : 6_000;
  const returns = await inTurns(
    quick ? 1 : 5,
    () => timeReturn(world.nats!.servers[0]!, count, online, pauseMs),
    () => timeReturn(bare.nats, count, bareOnline, pauseMs),
    millisecondsRound,
    0,
  );
  yield [figureOf(goals.back, returns), goals.back];
}

/** Milliseconds from the server's death until all hosts are back. It stays down until all have noticed. */
async function timeReturn(
  server: NatsServer,
  count: number,
  online: () => Promise<number>,
  pauseMs: number,
): Promise<number> {
  const startedAt = performance.now();
  await server.kill();
  await until("all have noticed", async () => (await online()) === 0, longestReturnMs);
  await server.restart();
  await until("all are back", async () => (await online()) === count, longestReturnMs);
  const took = performance.now() - startedAt;
  await sleep(pauseMs);
  return took;
}

/** Resident memory in KiB of an idle process: median of some looks, garbage collected before each. */
async function settledMemory(pid: number, looks: number, collect = () => {}): Promise<number> {
  if (looks > 1) await sleep(2_000);
  const seen: number[] = [];
  for (let i = 0; i < looks; i++) {
    collect();
    await sleep(500);
    seen.push(residentMemory(pid));
  }
  return median(seen);
}

function residentMemory(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)![1]);
}
