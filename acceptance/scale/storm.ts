// S4: NATS is killed, so that all links are lost at once. Measures how soon all hosts are back, and how often
// they dial for it, with two edges and with one.
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "@hawser/testkit/caller.ts";
import type { ControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import { startCuttingProxy } from "@hawser/testkit/cutting-proxy.ts";
import { startLightHosts, type LightHosts } from "@hawser/testkit/light-hosts.ts";
import { until } from "@hawser/testkit/until.ts";
import type { World } from "@hawser/testkit/world.ts";
import { atLeast, atMost, reported, type Figure } from "./figure.ts";
import { openScaleWorld, say, sayPaired } from "./stage.ts";

export interface StormSize {
  hosts: number;
  /** The limit of each edge. Low enough that two edges and all hosts fit on two cores. */
  linksPerSecond: number;
  /** After 5 s a link counts as stable, and its host's first wait is short again. */
  settleSeconds: number;
  /** Whether the hosts start again to learn the window of one edge too. Judged figures need it. */
  learnsTwice: boolean;
}

export const stormSizes: Record<"large" | "small", StormSize> = {
  large: { hosts: 2_000, linksPerSecond: 100, settleSeconds: 6, learnsTwice: true },
  small: { hosts: 60, linksPerSecond: 20, settleSeconds: 0, learnsTwice: false },
};

const longestMs = 300_000;
const sayEveryMs = 5_000;

interface Return {
  seconds: number;
  dialsPerHost: number;
}

interface Fleet {
  world: World;
  /** The nodes that hosts dial, in turn. */
  edges: ControlPlaneNode[];
  light: LightHosts;
  size: StormSize;
}

/**
 * Two edges first: an edge remembers for minutes how many links it had, so an edge that joined later would
 * make the window too long.
 */
export async function measureStorm(size: StormSize): Promise<Figure[]> {
  await using world = await openScaleWorld({
    nodes: 2,
    environment: { HAWSER_LINKS_PER_SECOND: String(size.linksPerSecond) },
  });
  const edges = [...world.nodes];
  let dials = 0;
  const balancer = {
    get port() {
      return portOf(edges[dials++ % edges.length]!);
    },
  };
  await using proxy = await startCuttingProxy(balancer);
  const address = `http://127.0.0.1:${proxy.port}`;
  await using light = await startLightHosts(
    world.caller,
    address,
    size.hosts,
    sayPaired(size.hosts),
  );
  await untilOnline(light);
  const fleet = { world, edges, light, size };

  const windowOfTwo = await untilWindowIsKnown(fleet);
  const atOnce = await startAgain(fleet);
  const ofTwo = await storm(fleet);
  await stopLastEdge(fleet);
  const windowOfOne = await untilWindowIsKnown(fleet);
  if (size.learnsTwice) await startAgain(fleet);
  const ofOne = await storm(fleet);

  return [
    atMost("storm_back_per_window_1_edge", ofOne.seconds / windowOfOne, 1.2),
    atMost("storm_back_per_window_2_edges", ofTwo.seconds / windowOfTwo, 1.2),
    atMost("storm_dials_per_host_1_edge", ofOne.dialsPerHost, 1.5),
    atMost("storm_dials_per_host_2_edges", ofTwo.dialsPerHost, 1.5),
    atLeast("storm_speedup_2_edges", ofOne.seconds / ofTwo.seconds, 1.7),
    reported("storm_window_seconds_1_edge", windowOfOne),
    reported("storm_window_seconds_2_edges", windowOfTwo),
    reported("storm_all_at_once_seconds", atOnce.seconds),
    reported("storm_all_at_once_dials_per_host", atOnce.dialsPerHost),
  ];
}

/** Waits until the nodes have learned the number of hosts, and returns their window in seconds. */
async function untilWindowIsKnown({ edges, size }: Fleet): Promise<number> {
  // Nodes plan with this share of the edges' limit, and with 3 s at least.
  const expected = Math.max(3, size.hosts / (0.8 * size.linksPerSecond * edges.length));
  const windows = () => Promise.all(edges.map(readWindow));
  await until(
    `a window of about ${expected} s`,
    async () => {
      await sleep(200);
      // Longer if an edge was slower than its limit when the hosts arrived.
      return (await windows()).every(
        (seconds) => seconds > 0.9 * expected && seconds < 2 * expected,
      );
    },
    60_000,
  );
  return Math.min(...(await windows()));
}

/**
 * Starts all hosts again, so that they learn the window with the answer to hello. They start in the same
 * moment, so only the limit of the edges spreads them.
 */
async function startAgain(fleet: Fleet): Promise<Return> {
  const { instanceIds, ...light } = fleet.light;
  await light.stop(instanceIds);
  return timeReturn(fleet, "all at once", () => light.startAgain(instanceIds));
}

/** Kills NATS, and starts it again at once. */
async function storm(fleet: Fleet): Promise<Return> {
  await sleep(fleet.size.settleSeconds * 1000);
  return timeReturn(fleet, `NATS killed, edges: ${fleet.edges.length}`, () =>
    fleet.world.nats!.servers[0]!.restart(),
  );
}

/** Its hosts move to the other edges. */
async function stopLastEdge({ edges, light, size }: Fleet): Promise<void> {
  say("one of two edges stops");
  const stopped = edges.pop()!;
  const ended = once(stopped.process, "exit");
  stopped.process.kill("SIGTERM");
  await ended;
  await until(
    "all hosts are linked to the others",
    async () => {
      await sleep(100);
      const links = await Promise.all(edges.map((edge) => readMetric(edge, "hawser_links")));
      return links.reduce((sum, each) => sum + each, 0) === size.hosts;
    },
    longestMs,
  );
  await untilOnline(light);
}

/** The time from the beginning of `lose` until every host has a new link and its hello was answered. */
async function timeReturn(
  { edges, light, size }: Fleet,
  what: string,
  lose: () => Promise<unknown>,
): Promise<Return> {
  const before = await countAnswers(edges);
  const since = performance.now();
  await lose();
  await until(
    "every host has a new link",
    async () => {
      await sleep(100);
      return (await countAnswers(edges)).linked - before.linked >= size.hosts;
    },
    longestMs,
  );
  await untilOnline(light);
  const seconds = (performance.now() - since) / 1000;
  const { all, linked } = await countAnswers(edges);
  const dialsPerHost = (all - before.all) / size.hosts;
  const linksPerHost = (linked - before.linked) / size.hosts;
  say(
    `${what}: ${size.hosts} hosts back in ${seconds.toFixed(1)} s, ` +
      `${dialsPerHost.toFixed(2)} dials and ${linksPerHost.toFixed(2)} links each`,
  );
  return { seconds, dialsPerHost };
}

async function untilOnline(light: LightHosts): Promise<void> {
  let saidAt = performance.now();
  await until(
    "every host is online",
    async () => {
      // Asking thousands of hosts costs them time that they need to arrive.
      await sleep(100);
      const states = await light.states();
      const online = states.filter((state) => state === "online").length;
      if (performance.now() - saidAt > sayEveryMs) {
        saidAt = performance.now();
        say(`  ${online} of ${states.length} hosts online`);
      }
      return online === states.length;
    },
    longestMs,
  );
}

interface Answers {
  all: number;
  linked: number;
}

/** The answers of these edges to hosts that dialled, so far. */
async function countAnswers(edges: ControlPlaneNode[]): Promise<Answers> {
  const answers = { all: 0, linked: 0 };
  for (const { metricsUrl } of edges) {
    const { text } = await request(metricsUrl, "/metrics");
    for (const [, status, count] of text.matchAll(
      /^hawser_link_answers_total\{status="(\d+)"\} (\d+)$/gm,
    )) {
      answers.all += Number(count);
      if (status === "101") answers.linked += Number(count);
    }
  }
  return answers;
}

const readWindow = (node: ControlPlaneNode) => readMetric(node, "hawser_reconnect_window_seconds");

async function readMetric({ metricsUrl }: ControlPlaneNode, name: string): Promise<number> {
  const { text } = await request(metricsUrl, "/metrics");
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

const portOf = ({ baseUrl }: ControlPlaneNode) => Number(new URL(baseUrl).port);
