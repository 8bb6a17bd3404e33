// An upgrade of the database beside traffic: migrations run on a large table while callers send requests,
// hosts are connected, and a long transaction is in the way of each migration.
import { setTimeout as sleep } from "node:timers/promises";
import type { LightHosts } from "@hawser/testkit/light-hosts.ts";
import { insertInstances, openReader, runMigration } from "@hawser/testkit/upgrade-stage.ts";
import type { World } from "@hawser/testkit/world.ts";
import { atLeast, atMost, reported, type Figure } from "./figure.ts";
import { addLightHosts, openScaleWorld, say } from "./stage.ts";

export interface UpgradeSize {
  instances: number;
  hosts: number;
  callsPerSecond: number;
  /** How long each long transaction stays open after its migration has begun. */
  readerMs: number;
}

export const upgradeSizes: Record<"large" | "small", UpgradeSize> = {
  large: { instances: 1_000_000, hosts: 50, callsPerSecond: 50, readerMs: 10_000 },
  small: { instances: 3_000, hosts: 5, callsPerSecond: 30, readerMs: 1_500 },
};

/** Needs an ACCESS EXCLUSIVE lock, which excludes all other reads and writes of the table. */
const column = "ALTER TABLE instances ADD COLUMN upgrade_note text";
const index = `-- hawser: outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS instances_by_upgrade
  ON instances (organization_id, daemon_version, instance_id);
`;

export async function measureUpgrade(size: UpgradeSize): Promise<Figure[]> {
  // The node's log has each change of a host's status.
  await using world = await openScaleWorld({ environment: { HAWSER_LOG_LEVEL: "info" } });
  await using hosts = await addLightHosts(world, size.hosts);
  const stored = await insertInstances(world.database.url, world.organizations[0], size.instances);
  say(`${size.instances} instances are stored`);
  const sendDuring = (work: () => Promise<unknown>) =>
    sendRequests(world, { stored, hosts: hosts.instanceIds }, size.callsPerSecond, work);
  // The first requests are not counted: statements are prepared, and code is compiled.
  await sendDuring(() => sleep(size.readerMs / 3));
  const before = await sendDuring(() => sleep(size.readerMs / 3));
  const said: string[] = [];
  const durations: number[] = [];
  const during = await sendDuring(async () => {
    for (const [name, text] of [
      ["column.sql", column],
      ["index.sql", index],
    ] as const) {
      durations.push(await migrateBesideReader(world, size, name, text, said));
    }
  });
  const waits = during.waitsMs.toSorted((a, b) => a - b);
  return [
    atMost("upgrade_failed_requests", during.failed, 0),
    atMost("upgrade_longest_wait_ms", waits.at(-1)!, 500),
    atMost("upgrade_hosts_lost", await countLost(world, hosts), 0),
    atLeast("upgrade_lock_attempts", said.length + 1, 2),
    reported("upgrade_p99_wait_ms", waits[Math.floor(waits.length * 0.99)]!),
    reported("upgrade_longest_wait_before_ms", Math.max(...before.waitsMs)),
    reported("upgrade_requests", waits.length),
    reported("upgrade_column_ms", durations[0]!),
    reported("upgrade_index_ms", durations[1]!),
  ];
}

/** Milliseconds from its start to its end. */
async function migrateBesideReader(
  { database: { url } }: World,
  { readerMs }: UpgradeSize,
  name: string,
  text: string,
  said: string[],
): Promise<number> {
  const reader = await openReader(url);
  const startedAt = performance.now();
  const migrated = runMigration(url, name, text, (line) => {
    said.push(line);
    say(`  ${line}`);
  }).then(() => performance.now() - startedAt);
  // A failure is reported below, when the reader has ended.
  migrated.catch(() => {});
  await sleep(readerMs);
  await reader[Symbol.asyncDispose]();
  const durationMs = await migrated;
  say(`${name} took ${Math.round(durationMs)} ms beside a reader of ${readerMs} ms`);
  return durationMs;
}

interface Targets {
  stored: string[];
  hosts: string[];
}

/** Sends requests at an even rate until the work is done, however long each of them takes. */
async function sendRequests(
  { caller }: World,
  { stored, hosts }: Targets,
  callsPerSecond: number,
  work: () => Promise<unknown>,
) {
  const waitsMs: number[] = [];
  let failed = 0;
  let sent = 0;
  const any = (ids: string[]) => ids[sent % ids.length]!;
  const calls: (() => [action: string, input: object])[] = [
    () => ["get_instance", { instanceId: any(stored) }],
    () => ["update_instance", { instanceId: any(stored), name: `stored again ${sent}` }],
    () => ["search_instances", { query: "stored 0000", limit: 20 }],
    () => ["get_instance", { instanceId: any(hosts) }],
    () => ["list_directories", { instanceId: any(hosts) }],
  ];

  async function send(): Promise<void> {
    const [action, input] = calls[sent % calls.length]!();
    const startedAt = performance.now();
    const { status, text } = await caller
      .try(action, input)
      .catch((error: unknown) => ({ status: 0, text: String(error) }));
    waitsMs.push(performance.now() - startedAt);
    if (status === 200) return;
    failed += 1;
    say(`  ${action} was answered ${status}: ${text.slice(0, 200)}`);
  }

  const end = new AbortController();
  const working = work().finally(() => end.abort());
  const pending: Promise<void>[] = [];
  const startedAt = performance.now();
  while (!end.signal.aborted) {
    sent += 1;
    pending.push(send());
    const dueMs = startedAt + (sent * 1000) / callsPerSecond - performance.now();
    if (dueMs > 0) await sleep(dueMs, undefined, { signal: end.signal }).catch(() => {});
  }
  await Promise.all(pending);
  await working;
  return { waitsMs, failed };
}

/** Hosts that were shown offline at any time, or are not online now. */
async function countLost({ nodes }: World, hosts: LightHosts): Promise<number> {
  const shown = nodes.flatMap(({ log }) =>
    log.filter(({ msg, status }) => msg === "presence" && String(status).startsWith("offline")),
  );
  const lost = new Set(shown.map(({ instanceId }) => String(instanceId)));
  for (const [place, state] of (await hosts.states()).entries()) {
    if (state !== "online") lost.add(hosts.instanceIds[place]!);
  }
  return hosts.instanceIds.filter((id) => lost.has(id)).length;
}
