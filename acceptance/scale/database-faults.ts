// Faults of the database: what callers and hosts see of a server that turns read-only, as after a switch-over,
// and how long other hosts wait while the hello of one waits for a lock.
import { setTimeout as sleep } from "node:timers/promises";
import { parseId } from "@hawser/contract";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import type { LightHosts } from "@hawser/testkit/light-hosts.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { until } from "@hawser/testkit/until.ts";
import type { World } from "@hawser/testkit/world.ts";
import { atMost, reported, type Figure } from "./figure.ts";
import { addLightHosts, openScaleWorld, say } from "./stage.ts";

export interface DatabaseFaultsSize {
  hosts: number;
  /** How often the hosts return while the hello of one of them waits. */
  returns: number;
}

export const databaseFaultsSizes: Record<"large" | "small", DatabaseFaultsSize> = {
  large: { hosts: 50, returns: 7 },
  small: { hosts: 10, returns: 3 },
};

const readOnlyMs = 6_000;

export async function measureDatabaseFaults(size: DatabaseFaultsSize): Promise<Figure[]> {
  await using world = await openScaleWorld();
  await using hosts = await addLightHosts(world, size.hosts);
  return [...(await turnReadOnly(world, hosts)), await blockHello(world, hosts, size.returns)];
}

async function turnReadOnly(world: World, hosts: LightHosts): Promise<Figure[]> {
  say("the database turns read-only");
  const [organization] = world.organizations;
  const sessions = new Map<string, string>();
  for (const instanceId of hosts.instanceIds) {
    const [sessionId] = await insertSessions(world, organization, { instanceId });
    sessions.set(instanceId, sessionId!);
  }
  const append = (text: string) =>
    Promise.all([...sessions].map(([host, session]) => hosts.append(host, session, [text])));
  await append("before");
  await untilApplied(world, sessions.size);

  const { log } = world.nodes[0]!;
  const logged = log.length;
  let startedAt = await setReadOnly(world, true);
  await append("meanwhile");
  const answers: number[] = [];
  const change = async () => {
    const { status } = await world.caller.try("create_instance", { name: "a host" });
    answers.push(status);
    return status;
  };
  const unreadyMs = timeUntil(startedAt, async () => (await readiness(world)) === 503);
  const refusedMs = timeUntil(startedAt, async () => (await change()) === 503);
  const timesMs = await Promise.all([unreadyMs, refusedMs]);
  while (performance.now() - startedAt < readOnlyMs) {
    await change();
    await sleep(100);
  }
  startedAt = await setReadOnly(world, false);
  const readyMs = timeUntil(startedAt, async () => (await readiness(world)) === 200);
  const writtenMs = timeUntil(startedAt, async () => (await change()) === 200);
  const backMs = Math.max(await readyMs, await writtenMs);
  await untilApplied(world, 2 * sessions.size);
  const unfit = log.slice(logged).filter(({ msg }) => msg === "a report cannot be stored");
  const wrong = answers.filter((status) => status !== 200 && status !== 503);
  return [
    atMost("database_faults_read_only_unready_ms", timesMs[0], 5_000),
    atMost("database_faults_read_only_refused_ms", timesMs[1], 5_000),
    atMost("database_faults_read_only_wrong_answers", wrong.length, 0),
    atMost("database_faults_read_only_unfit_reports", unfit.length, 0),
    reported("database_faults_read_only_back_ms", backMs),
  ];
}

/** Returns when the change was made. */
async function setReadOnly(world: World, isReadOnly: boolean): Promise<number> {
  const { url } = world.database;
  const value = isReadOnly ? "on" : "off";
  await ownerSql(url, `ALTER SYSTEM SET default_transaction_read_only = ${value}`);
  const startedAt = performance.now();
  await ownerSql(url, "SELECT pg_reload_conf()");
  return startedAt;
}

async function readiness(world: World): Promise<number> {
  return (await fetch(`${world.baseUrl}/readyz`)).status;
}

async function timeUntil(startedAt: number, test: () => Promise<boolean>): Promise<number> {
  await until("the node has noticed", test, 60_000);
  return performance.now() - startedAt;
}

async function untilApplied(world: World, entries: number): Promise<void> {
  const count = async () =>
    (await ownerSql<{ count: string }>(world.database.url, "SELECT count(*) FROM session_log"))[0]!;
  await until(
    `${entries} entries are stored`,
    async () => Number((await count()).count) >= entries,
    60_000,
  );
}

/** By how much longer the other hosts take to return if the row of one of them is locked. */
async function blockHello(world: World, hosts: LightHosts, returns: number): Promise<Figure> {
  say("one hello waits for a lock");
  const instanceId = parseId("instance", hosts.instanceIds[0]!)!;
  const lock = `SELECT FROM instances WHERE instance_id = '${instanceId}' FOR UPDATE`;
  const moreMs: number[] = [];
  for (let i = 0; i < returns; i++) {
    const freeMs = await timeReturn(hosts);
    await hosts.stop(hosts.instanceIds);
    await using _held = await holdRow(world.database.url, lock);
    const blockedMs = await timeStart(hosts);
    say(
      `  all but one returned in ${Math.round(freeMs)} ms, with the lock in ${Math.round(blockedMs)} ms`,
    );
    moreMs.push(blockedMs - freeMs);
  }
  const median = moreMs.toSorted((a, b) => a - b)[moreMs.length >> 1]!;
  return atMost("database_faults_blocked_hello_delay_ms", median, 1_000);
}

async function timeReturn(hosts: LightHosts): Promise<number> {
  await hosts.stop(hosts.instanceIds);
  return timeStart(hosts);
}

/** Milliseconds until all hosts but one have said hello. */
async function timeStart(hosts: LightHosts): Promise<number> {
  const startedAt = performance.now();
  await hosts.startAgain(hosts.instanceIds);
  const online = async () => (await hosts.states()).filter((state) => state === "online").length;
  const others = hosts.instanceIds.length - 1;
  await until("the others are online", async () => (await online()) >= others, 60_000);
  return performance.now() - startedAt;
}
