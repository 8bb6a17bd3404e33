// S1: what idle hosts cost, measured with growing numbers of light hosts and fitted to a line. Renewals of
// tokens happen once in many minutes, so their cost is measured in a second world with short-lived tokens,
// and added as often as real tokens are renewed.
import { setTimeout as sleep } from "node:timers/promises";
import type { World } from "@hawser/testkit/world.ts";
import { atMost, reported, type Figure } from "./figure.ts";
import { hourlyAt, slopeDifference, slopes, type Point } from "./fit.ts";
import { costOf, describe, minus, perHour, quantities, scaled, type Quantities } from "./meter.ts";
import { addLightHosts, openScaleWorld, say } from "./stage.ts";

export interface IdleGrowthSize {
  /** Numbers of hosts, growing. */
  hosts: readonly number[];
  /** Time for hellos and pinned keys before a measurement begins. */
  settleSeconds: number;
  /** Long enough for one heartbeat of each host. */
  windowSeconds: number;
  renewals: { hosts: number; tokenSeconds: number };
}

export const idleGrowthSizes: Record<"large" | "small", IdleGrowthSize> = {
  large: {
    hosts: [250, 500, 1_000, 2_000],
    settleSeconds: 30,
    windowSeconds: 300,
    renewals: { hosts: 40, tokenSeconds: 120 },
  },
  small: {
    hosts: [2, 4, 6, 8],
    settleSeconds: 0,
    windowSeconds: 1,
    renewals: { hosts: 2, tokenSeconds: 10 },
  },
};

export interface IdleGrowth {
  points: Point[];
  /** What one idle host costs in an hour, including the renewals of its token. */
  perHost: Quantities;
}

/** Measures and fits. */
export async function growIdleHosts(size: IdleGrowthSize): Promise<IdleGrowth> {
  const { points, renewalsPerHour } = await measurePoints(size);
  const renewal = await measureRenewal(size, points);
  say(`a renewal: ${describe(renewal)}; ${renewalsPerHour.toFixed(2)} an hour`);
  const heartbeats = slopes(points);
  const perHost = Object.fromEntries(
    quantities.map((quantity) => [
      quantity,
      heartbeats[quantity] + renewalsPerHour * renewal[quantity],
    ]),
  ) as Quantities;
  return { points, perHost };
}

export function idleGrowthFigures({ points, perHost }: IdleGrowth): Figure[] {
  const cpu = perHost.nodeSeconds + perHost.postgresSeconds + perHost.natsSeconds;
  const name = (rest: string) => `idle_growth_${rest}`;
  return [
    atMost(name("transactions_per_host_hour"), perHost.transactions, 25),
    atMost(name("slope_difference"), slopeDifference(points, "transactions"), 0.1),
    // A third of 435 ms, which an idle host cost when its heartbeats came every 30 seconds.
    atMost(name("cpu_ms_per_host_hour"), cpu * 1000, 145),
    reported(name("node_cpu_ms_per_host_hour"), perHost.nodeSeconds * 1000),
    reported(name("postgres_cpu_ms_per_host_hour"), perHost.postgresSeconds * 1000),
    reported(name("nats_cpu_ms_per_host_hour"), perHost.natsSeconds * 1000),
    reported(name("wal_bytes_per_host_hour"), perHost.walBytes),
    reported(name("transactions_per_hour_without_hosts"), hourlyAt(points, 0).transactions),
  ];
}

async function measurePoints(size: IdleGrowthSize) {
  await using world = await openScaleWorld();
  await using fleets = new AsyncDisposableStack();
  const points: Point[] = [];
  let present = 0;
  let renewalsPerHour = 0;
  for (const count of size.hosts) {
    const fleet = fleets.use(await addLightHosts(world, count - present));
    present = count;
    renewalsPerHour = 3600 / (await fleet.renewalSeconds());
    await sleep(size.settleSeconds * 1000);
    const hourly = perHour(await costOf(world, () => sleep(size.windowSeconds * 1000)));
    points.push({ count, hourly });
    say(`${count} hosts idle, per hour: ${describe(hourly)}`);
  }
  return { points, renewalsPerHour };
}

/** What one renewal costs: the new token, the second connection with its hello, the end of the first one. */
async function measureRenewal(size: IdleGrowthSize, points: Point[]): Promise<Quantities> {
  const { hosts: count, tokenSeconds } = size.renewals;
  await using world = await openScaleWorld({
    environment: { HAWSER_HOST_TOKEN_SECONDS: String(tokenSeconds) },
  });
  await using _hosts = await addLightHosts(world, count);
  await sleep(size.settleSeconds * 1000);
  const before = await countConnections(world);
  // Hosts renew their tokens after two thirds of the lifetime, so each does it at least once.
  const cost = await costOf(world, () => sleep(tokenSeconds * 1000));
  const renewals = (await countConnections(world)) - before;
  if (renewals < count) throw new Error(`${renewals} of ${count} tokens were renewed.`);
  const idle = scaled(hourlyAt(points, count), cost.seconds / 3600);
  return scaled(minus(cost, idle), 1 / renewals);
}

/** Connections that the NATS server has accepted so far. */
async function countConnections(world: World): Promise<number> {
  const response = await fetch(`${world.nats!.servers[0]!.monitorUrl}/varz`);
  return ((await response.json()) as { total_connections: number }).total_connections;
}
