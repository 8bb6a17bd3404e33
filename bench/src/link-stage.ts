// Shared by the figures of commands and hosts: a world with a fabric in its own cluster, the load job that
// sends commands to its hosts, and the number of hosts that are online.
import { forMeasuring } from "@hawser/testkit/postgres.ts";
import { startLightHosts, type LightHosts } from "@hawser/testkit/light-hosts.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";
import type { LoadJob } from "./load.ts";
import { connections } from "./stage.ts";

export function openLinkWorld(
  hosts: number,
  environment: Record<string, string> = {},
): Promise<World> {
  return startWorld({
    hosts,
    nats: 1,
    postgres: forMeasuring,
    environment: {
      HAWSER_DATABASE_CONNECTIONS: String(connections),
      HAWSER_RATE_PER_SECOND: "1000000",
      HAWSER_RATE_BURST: "1000000",
      HAWSER_STREAMS_PER_KEY: "1000000",
      HAWSER_STREAMS_PER_ORGANIZATION: "1000000",
      ...environment,
    },
  });
}

const longestArrivalMs = 180_000;

/** Starts light hosts in one separate process. All are online when this returns. */
export async function addLightHosts(world: World, count: number): Promise<LightHosts> {
  const hosts = await startLightHosts(world.caller, world.baseUrl, count);
  await until(
    `${count} light hosts online`,
    async () => (await countOnline(hosts)) === count,
    longestArrivalMs,
  );
  return hosts;
}

export async function countOnline(hosts: LightHosts): Promise<number> {
  return (await hosts.states()).filter((state) => state === "online").length;
}

/** refresh_instance on these hosts in turn; the bare node accepts the same bodies. */
export function commandJob(
  world: World,
  instanceIds: string[],
  inFlight: number,
): Omit<LoadJob, "seconds" | "requests"> {
  return {
    url: `${world.baseUrl}/api/rest/actions/refresh_instance`,
    headers: {
      authorization: `Bearer ${world.caller.key}`,
      "content-type": "application/json",
    },
    bodies: instanceIds.map((instanceId) => JSON.stringify({ instanceId })),
    connections: inFlight,
  };
}

/** Throws unless a call through each side writes the two audit entries of a command. */
export async function verifyCommand(
  world: World,
  instanceId: string,
  bareUrl: string,
): Promise<void> {
  const entries = async () =>
    (
      await ownerSql<{ entries: number }>(
        world.database.url,
        `SELECT count(*)::int AS entries FROM audit_entries WHERE action = 'refresh_instance'`,
      )
    )[0]!.entries;
  const before = await entries();
  const ours = await world.caller.refresh_instance({ instanceId });
  const response = await fetch(bareUrl, { method: "POST", body: JSON.stringify({ instanceId }) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`The bare node answered ${text}`);
  const bare = JSON.parse(text) as { name: string };
  const written = (await entries()) - before;
  if (bare.name !== ours.name || written !== 4) {
    throw new Error(`Asked for ${ours.name}: the bare node gave ${bare.name}, ${written} entries.`);
  }
}
