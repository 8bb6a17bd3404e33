// The records of hosts are lost for a simulated hour, as after a restored backup or with a wrong policy of
// the database, and come back: no daemon may forget. Then hosts are really removed, and their daemons forget.
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "@hawser/testkit/caller.ts";
import { startLightHosts, type LightHosts } from "@hawser/testkit/light-hosts.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { until } from "@hawser/testkit/until.ts";
import type { World } from "@hawser/testkit/world.ts";
import { atLeast, atMost, reported, type Figure } from "./figure.ts";
import { openScaleWorld, say } from "./stage.ts";

export interface ForgetSize {
  hosts: number;
  /** How long the records are lost, in real seconds. The waits of the links are 60 times shorter than usual. */
  seconds: number;
}

export const forgetSizes: Record<"large" | "small", ForgetSize> = {
  large: { hosts: 50, seconds: 60 },
  small: { hosts: 8, seconds: 12 },
};

/** Tokens expire during the test, so that hosts also ask over HTTP, by their keys. */
const tokenSeconds = 10;
/** A sixtieth of the waits of a real daemon: a minute is an hour. */
const timing = {
  firstMs: 5,
  longestMs: 5_000,
  early: { longestMs: 60, tries: 120 },
  unknownHost: { firstMs: 35, longestMs: 1_000 },
};
const arrivalMs = 60_000;
const removedAtOnce = 5;

export async function measureForget({ hosts: count, seconds }: ForgetSize): Promise<Figure[]> {
  await using world = await openScaleWorld({
    environment: { HAWSER_HOST_TOKEN_SECONDS: String(tokenSeconds) },
  });
  await using hosts = await startLightHosts(world.caller, world.baseUrl, count, { timing });
  await untilOnline(world, hosts);
  const sessions = await openSessions(world, hosts);

  say(`the keys of ${count} hosts are lost for ${seconds / 2} s`);
  await loseKeys(world);
  await keepReporting(hosts, sessions, seconds / 2);
  say(`their instances are hidden too, for ${seconds / 2} s`);
  await hideInstances(world);
  await keepReporting(hosts, sessions, seconds / 2);
  const answers = await countUnknownAnswers(world);
  const kept = (await hosts.paired()).length;
  const restoredAt = performance.now();
  await restore(world);
  await untilOnline(world, hosts);
  const backMs = performance.now() - restoredAt;

  say(`all are back after ${Math.round(backMs)} ms; they are removed`);
  const removed = await removeHosts(world, hosts);
  const name = (rest: string) => `forget_${rest}`;
  return [
    atMost(name("hosts_without_proof"), count - kept, 0),
    // At usual speed a host asks at most once in 30 s on average, that is 120 times in an hour.
    atLeast(name("unknown_answers_per_host"), answers / count, seconds / 2),
    reported(name("back_online_ms"), backMs),
    atMost(name("removal_ms"), removed.longestMs, 1_000),
    atMost(name("removed_hosts_left"), removed.left, 0),
  ];
}

function untilOnline({ caller }: World, hosts: LightHosts): Promise<void> {
  return until(
    "every host is linked and shown online",
    async () => {
      const states = await hosts.states();
      const { instances } = await caller.list_instances({});
      return (
        states.every((state) => state === "online") &&
        instances.every(({ status }) => status === "online")
      );
    },
    arrivalMs,
  );
}

/** One session for each host. */
async function openSessions(world: World, { instanceIds }: LightHosts) {
  const sessions: { instanceId: string; sessionId: string }[] = [];
  for (const instanceId of instanceIds) {
    const [sessionId] = await insertSessions(world, world.organizations[0], { instanceId });
    sessions.push({ instanceId, sessionId: sessionId! });
  }
  return sessions;
}

/** Lets every host that has not forgotten write a log entry each second, which it then tries to report. */
async function keepReporting(
  hosts: LightHosts,
  sessions: { instanceId: string; sessionId: string }[],
  seconds: number,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const paired = new Set(await hosts.paired());
    for (const { instanceId, sessionId } of sessions.filter((each) =>
      paired.has(each.instanceId),
    )) {
      await hosts.append(instanceId, sessionId, ["an entry"]);
    }
    await sleep(1_000);
  }
}

/** As after a restored backup that is older than the pairings. */
async function loseKeys({ database }: World): Promise<void> {
  await ownerSql(
    database.url,
    `CREATE TABLE lost_host_keys AS TABLE host_keys;
     DELETE FROM host_connections;
     DELETE FROM host_keys`,
  );
}

/** As with a wrong policy: the service reads no instance. */
async function hideInstances({ database }: World): Promise<void> {
  await ownerSql(database.url, "ALTER POLICY every_tenant ON instances USING (false)");
}

async function restore({ database }: World): Promise<void> {
  await ownerSql(
    database.url,
    `ALTER POLICY every_tenant ON instances USING (true);
     INSERT INTO host_keys TABLE lost_host_keys`,
  );
}

async function countUnknownAnswers({ nodes }: World): Promise<number> {
  const { text } = await request(nodes[0]!.metricsUrl, "/metrics");
  return Number(/^hawser_unknown_host_answers_total (\d+)$/m.exec(text)?.[1]);
}

/** Removes every host: most while they are connected, some while their daemons are stopped. */
async function removeHosts({ caller }: World, hosts: LightHosts) {
  const away = hosts.instanceIds.slice(0, Math.ceil(hosts.instanceIds.length / 5));
  const present = hosts.instanceIds.slice(away.length);
  let longestMs = 0;
  for (let at = 0; at < present.length; at += removedAtOnce) {
    const some = present.slice(at, at + removedAtOnce);
    const since = performance.now();
    const deletes = Promise.all(some.map((instanceId) => caller.delete_instance({ instanceId })));
    await untilForgotten(hosts, some);
    longestMs = Math.max(longestMs, performance.now() - since);
    await deletes;
  }
  await hosts.stop(away);
  for (const instanceId of away) await caller.delete_instance({ instanceId });
  await hosts.startAgain(away);
  await untilForgotten(hosts, away);
  return { longestMs, left: (await hosts.paired()).length };
}

function untilForgotten(hosts: LightHosts, instanceIds: string[]): Promise<void> {
  return until(
    "the removed hosts have no credentials",
    async () => {
      const paired = new Set(await hosts.paired());
      return !instanceIds.some((id) => paired.has(id));
    },
    30_000,
  );
}
