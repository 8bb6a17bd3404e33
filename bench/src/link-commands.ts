// The figures of single commands: one at a time to one host, beside the sum of what its parts take
// alone, and many at once, beside a bare program that does the same work.
import { figureOf, median, type Figure, type Goal } from "./figure.ts";
import { addLightHosts, commandJob, openLinkWorld, verifyCommand } from "./link-stage.ts";
import { startBareLink } from "./bare-link.ts";
import { inTurns, millisecondsRound, paceOf, throughputRounds } from "./rounds.ts";
import { say } from "./stage.ts";
import { startLoadGenerator } from "./workers.ts";

const goals = {
  latency: {
    name: "link_command_latency",
    unit: "ms",
    goal: 2,
    direction: "at most",
    meaning:
      "Median of refresh_instance, one call at a time, from REST through node, edge and daemon and " +
      "back, beside the sum of its parts measured alone: HTTP, two transactions, NATS, three commits.",
  },
  throughput: {
    name: "link_command_throughput",
    unit: "/s",
    goal: 0.4,
    direction: "at least",
    meaning:
      "refresh_instance calls per second, 64 in flight over 64 hosts in one process, beside a bare " +
      "program of the same processes that runs the same transactions, request and commits.",
  },
} satisfies Record<string, Goal>;

export async function* measureLinkCommands(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  const pace = paceOf(quick);
  const hostCount = quick ? 8 : 64;
  await using world = await openLinkWorld(0);
  const { pid } = world.nodes[0]!;
  // A light host: the daemon's link, journal and commands, without the look at the machine that a full
  // daemon takes for this command, which the bare side has no counterpart of.
  await using single = await addLightHosts(world, 1);
  const instanceId = single.instanceIds[0]!;
  await using bare = await startBareLink(world, instanceId);
  await using load = startLoadGenerator();

  await using bareHost = await bare.addHosts([instanceId]);
  await verifyCommand(world, instanceId, bare.url);
  say(goals.latency.name);
  const job = commandJob(world, [instanceId], 1);
  const besideChained: number[] = [];
  const latencies = await inTurns(
    pace.rounds,
    async () => (await load.run({ ...job, requests: pace.calls })).p50Ms,
    async () => {
      const http = { ...job, url: `${bare.url}/http`, requests: pace.calls };
      const { postgres, nats } = await bare.parts(instanceId, pace.calls);
      return {
        http: (await load.run(http)).p50Ms,
        postgres,
        nats,
        sqlite: await bareHost.commits(pace.calls),
        chained: (await load.run({ ...job, url: bare.url, requests: pace.calls })).p50Ms,
      };
    },
    (ours, { chained, ...parts }) => {
      const named = Object.entries(parts).map(([name, ms]) => `${name} ${ms.toFixed(3)}`);
      const sum = Object.values(parts).reduce((a, b) => a + b);
      const { round, text } = millisecondsRound(ours, sum);
      besideChained.push(ours / chained);
      return { round, text: `${text} (${named.join(", ")}; chained ${chained.toFixed(3)})` };
    },
  );
  // A part alone finds its processes awake; in a chain each one is woken for every call.
  say(`  beside the bare program that does them in a chain: ${median(besideChained).toFixed(3)}`);
  yield [figureOf(goals.latency, latencies), goals.latency];

  await using light = await addLightHosts(world, hostCount);
  await using _bareHosts = await bare.addHosts(light.instanceIds);
  await verifyCommand(world, light.instanceIds[0]!, bare.url);
  say(goals.throughput.name);
  const many = commandJob(world, light.instanceIds, hostCount);
  const rounds = await throughputRounds(
    load,
    pace,
    { job: many, pid },
    { job: { ...many, url: bare.url }, pid: bare.pid },
  );
  yield [figureOf(goals.throughput, rounds), goals.throughput];
}
