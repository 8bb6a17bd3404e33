// Shared by the experiments: a world on a durable cluster, light hosts in large numbers, and progress.
import { setTimeout as sleep } from "node:timers/promises";
import { startLightHosts, type LightHosts } from "@hawser/testkit/light-hosts.ts";
import { forMeasuring } from "@hawser/testkit/postgres.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

/** Prints progress to stderr; stdout is for figures. */
export const say = (line: string) => void process.stderr.write(`${line}\n`);

const queryCounting = {
  shared_preload_libraries: "pg_stat_statements",
  // BEGIN and COMMIT are no queries.
  "pg_stat_statements.track_utility": "off",
};

interface ScaleWorldOptions {
  nodes?: number;
  /** How many nats-servers. */
  nats?: 1 | 3;
  /** Makes `countQueries` work, which costs PostgreSQL a little time. */
  countsQueries?: boolean;
  /** Lets nodes reach NATS through a proxy that can drop messages. */
  noticeProxy?: boolean;
  /** Further settings for every node. */
  environment?: Record<string, string>;
}

/**
 * A world with NATS whose PostgreSQL waits for the disk at every commit. Limits per key and organization
 * are raised, because all callers belong to one organization.
 */
export function openScaleWorld({
  nodes = 1,
  nats = 1,
  countsQueries = false,
  noticeProxy = false,
  environment = {},
}: ScaleWorldOptions = {}): Promise<World> {
  say(`starting PostgreSQL, NATS (${nats}) and nodes (${nodes})`);
  return startWorld({
    nodes,
    nats,
    noticeProxy,
    // Only the meter makes checkpoints.
    postgres: {
      ...forMeasuring,
      settings: { ...forMeasuring.settings, ...(countsQueries && queryCounting) },
    },
    environment: {
      HAWSER_LOG_LEVEL: "warn",
      HAWSER_RATE_PER_SECOND: "1000000",
      HAWSER_RATE_BURST: "1000000",
      HAWSER_STREAMS_PER_KEY: "1000000",
      HAWSER_STREAMS_PER_ORGANIZATION: "1000000",
      ...environment,
    },
  });
}

/** An option for `startLightHosts`: prints how many of so many hosts are paired. */
export const sayPaired = (count: number) => ({
  onPaired: (paired: number) => say(`  ${paired} of ${count} hosts paired`),
});

const longestArrivalMs = 300_000;

/** Starts light hosts in one separate process, linked through this node. All are online when this returns. */
export async function addLightHosts(world: World, count: number, node = 0): Promise<LightHosts> {
  const { baseUrl } = world.nodes[node]!;
  const hosts = await startLightHosts(world.caller, baseUrl, count, sayPaired(count));
  await until(
    `${count} light hosts online`,
    async () => {
      // Asking thousands of hosts costs them time that they need to arrive.
      await sleep(200);
      return (await hosts.states()).every((state) => state === "online");
    },
    longestArrivalMs,
  );
  return hosts;
}

/** Creates keys of the first organization that may see everything. */
export async function makeViewerKeys(world: World, count: number): Promise<string[]> {
  const keys: string[] = [];
  while (keys.length < count) {
    const some = Array.from({ length: Math.min(20, count - keys.length) }, () =>
      world.makeKey(world.organizations[0], ["instances:view", "sessions:view"]),
    );
    keys.push(...(await Promise.all(some)));
  }
  return keys;
}
