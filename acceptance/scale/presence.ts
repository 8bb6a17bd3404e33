// Measures whether presence stays true and affordable: what a comparison costs with many connections, and
// how many hosts are shown offline although only a part of the service died, stopped or froze.
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { ControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import { startCuttingProxy } from "@hawser/testkit/cutting-proxy.ts";
import { startLightHosts, type LightHosts } from "@hawser/testkit/light-hosts.ts";
import type { NatsServer } from "@hawser/testkit/nats.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openPresenceComparer, type Comparison } from "@hawser/testkit/presence-comparer.ts";
import {
  watchPresence,
  type PresenceWatch,
  type Sighting,
} from "@hawser/testkit/presence-watch.ts";
import { openRawConnections } from "@hawser/testkit/raw-connections.ts";
import { until } from "@hawser/testkit/until.ts";
import type { World } from "@hawser/testkit/world.ts";
import { freezeProcess } from "@hawser/testkit/processes.ts";
import { atLeast, atMost, type Figure } from "./figure.ts";
import { openScaleWorld, say } from "./stage.ts";

/** The logs have every change of presence, and every comparison. */
const environment = { HAWSER_LOG_LEVEL: "debug" };

export interface PresenceListSize {
  /** Numbers of connections, the second eight times the first. */
  few: number;
  many: number;
}

export const presenceListSizes: Record<"large" | "small", PresenceListSize> = {
  large: { few: 2_000, many: 16_000 },
  small: { few: 50, many: 400 },
};

/** S3: a whole comparison with few connections and with many. */
export async function measurePresenceList({ few, many }: PresenceListSize): Promise<Figure[]> {
  await using world = await openScaleWorld({ environment });
  await using comparer = await openPresenceComparer(world);
  using connections = openRawConnections(world);
  const measure = async (total: number): Promise<Comparison[]> => {
    await connections.grow(total);
    await until("all connections are recorded", () => areRecorded(world, total), 120_000);
    await comparer.compare();
    const measured: Comparison[] = [];
    for (let times = 0; times < 5; times++) measured.push(await comparer.compare());
    say(`${total} connections: compared in ${measured.map(({ ms }) => ms).join(", ")} ms`);
    return measured;
  };
  const small = await measure(few);
  const large = await measure(many);
  const missed = large.reduce((sum, { listed }) => sum + Math.max(0, many - listed), 0);
  return [
    atMost("presence_list_ms", median(large.map(({ listMs }) => listMs)), 1_000),
    atMost("presence_list_compare_ms", median(large.map(({ ms }) => ms)), 1_000),
    atMost(
      "presence_list_compare_ratio",
      median(large.map(({ ms }) => ms)) / median(small.map(({ ms }) => ms)),
      10,
    ),
    atMost("presence_list_cut", sumOf([...small, ...large], "cut"), 0),
    atMost("presence_list_missed", missed, 0),
    atMost("presence_list_taken_for_gone", sumOf([...small, ...large], "gone"), 0),
  ];
}

async function areRecorded({ database }: World, total: number): Promise<boolean> {
  const [row] = await ownerSql<{ count: number }>(
    database.url,
    "SELECT count(*)::int FROM host_connections",
  );
  await pause(100);
  return row!.count === total;
}

const sumOf = (all: Comparison[], name: "cut" | "gone") =>
  all.reduce((sum, each) => sum + each[name], 0);

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

export interface FaultSize {
  hosts: number;
  rounds: number;
}

export const edgeKilledSizes: Record<"large" | "small", FaultSize> = {
  large: { hosts: 100, rounds: 200 },
  small: { hosts: 30, rounds: 2 },
};

/** Hosts that are shown offline when the node with their edge is killed. */
export function measureEdgeKilled(size: FaultSize): Promise<Figure[]> {
  return endEdges("SIGKILL", size, "edge_killed_hosts_offline");
}

export const edgeStoppedSizes: Record<"large" | "small", FaultSize> = {
  large: { hosts: 100, rounds: 50 },
  small: { hosts: 30, rounds: 1 },
};

/** Hosts that are shown offline when that node is stopped while another of its hosts is frozen. */
export function measureEdgeStopped(size: FaultSize): Promise<Figure[]> {
  return endEdges("SIGTERM", size, "edge_stopped_hosts_offline");
}

async function endEdges(
  signal: "SIGKILL" | "SIGTERM",
  { hosts, rounds }: FaultSize,
  name: string,
): Promise<Figure[]> {
  await using world = await openScaleWorld({ environment });
  let edge = await world.addNode();
  const target = { port: portOf(edge) };
  await using balancer = await startCuttingProxy(target);
  await using watch = watchPresence(world.caller);
  const address = `http://127.0.0.1:${balancer.port}`;
  await using light = await startLightHosts(world.caller, address, hosts);
  await using frozen =
    signal === "SIGTERM" ? await startLightHosts(world.caller, address, 1) : undefined;
  const all = [...light.instanceIds, ...(frozen?.instanceIds ?? [])];
  await watch.until("online", all, isOnline, { patienceMs: 60_000 });
  const since = performance.now();
  for (let round = 0; round < rounds; round++) {
    const next = await world.addNode();
    const last = Math.max(...(await connectionsOf(world, light)));
    if (frozen) freezeProcess(frozen.pid);
    const ended = once(edge.process, "exit");
    edge.process.kill(signal);
    target.port = portOf(next);
    await ended;
    await until(
      "all hosts are linked again",
      async () => {
        const ids = await connectionsOf(world, light);
        return ids.length === hosts && Math.min(...ids) > last;
      },
      60_000,
    );
    if (frozen) process.kill(frozen.pid, "SIGCONT");
    await watch.until("back", all, isOnline, { patienceMs: 60_000 });
    edge = next;
    const offline = shownOffline(world, light, watch, since).size;
    say(`${signal} ${round + 1} of ${rounds}: ${offline} hosts shown offline so far`);
  }
  await pause(1_000);
  return [atMost(name, shownOffline(world, light, watch, since).size, 0)];
}

export const natsFrozenSizes: Record<"large" | "small", FaultSize> = {
  large: { hosts: 60, rounds: 3 },
  small: { hosts: 15, rounds: 1 },
};

/**
 * Hosts that are shown offline because one NATS server of three was frozen for 3 s while presence was
 * compared.
 */
export async function measureNatsFrozen({ hosts, rounds }: FaultSize): Promise<Figure[]> {
  await using world = await openScaleWorld({ nodes: 2, nats: 3, environment });
  await using watch = watchPresence(world.caller);
  await using light = await startLightHosts(world.caller, world.baseUrl, hosts);
  await watch.until("online", light.instanceIds, isOnline, { patienceMs: 60_000 });
  const since = performance.now();
  let comparisons = 0;
  for (let round = 0; round < rounds; round++) {
    const server = await serverWithoutLeader(world);
    const other = world.nats!.servers.find((each) => each !== server)!;
    await using comparer = await openPresenceComparer(world, other.url);
    say(`a NATS server is frozen, ${round + 1} of ${rounds}`);
    const frozenAt = performance.now();
    freezeProcess(server.pid);
    try {
      while (performance.now() - frozenAt < 2_000) {
        await comparer.compare();
        comparisons += 1;
      }
      await pause(Math.max(0, 3_000 - (performance.now() - frozenAt)));
    } finally {
      process.kill(server.pid, "SIGCONT");
    }
    // A host that is taken for lost is shown offline 15 s later.
    await pause(18_000);
  }
  return [
    atMost("nats_frozen_hosts_offline", shownOffline(world, light, watch, since).size, 0),
    atLeast("nats_frozen_comparisons", comparisons, rounds),
  ];
}

/** A server that the leader is not connected to, so that comparisons go on while it is frozen. */
async function serverWithoutLeader(world: World): Promise<NatsServer> {
  const [lease] = await ownerSql<{ holder: string }>(
    world.database.url,
    "SELECT holder FROM leases WHERE name = 'presence'",
  );
  for (const server of world.nats!.servers) {
    const names = (await connz(server)).map(({ name }) => name ?? "");
    if (!names.some((name) => name.startsWith(`node.${lease!.holder}`))) return server;
  }
  throw new Error("The leader is connected to every NATS server.");
}

/** The numbers of these hosts' connections at the first NATS server. */
async function connectionsOf(world: World, { instanceIds }: LightHosts): Promise<number[]> {
  const wanted = new Set(instanceIds);
  const listed = await connz(world.nats!.servers[0]!);
  return listed.filter(({ name }) => wanted.has(name ?? "")).map(({ cid }) => cid);
}

async function connz({ monitorUrl }: NatsServer): Promise<{ cid: number; name?: string }[]> {
  const response = await fetch(`${monitorUrl}/connz?limit=20000`);
  return ((await response.json()) as { connections: { cid: number; name?: string }[] }).connections;
}

/** By what callers saw, and by the logs of the nodes, which have every change. */
function shownOffline(
  { nodes }: World,
  { instanceIds }: LightHosts,
  watch: PresenceWatch,
  since: number,
): Set<string> {
  const logged = nodes.flatMap(({ log }) =>
    log.filter(({ msg, status }) => msg === "presence" && String(status).startsWith("offline")),
  );
  const offline = new Set(logged.map(({ instanceId }) => String(instanceId)));
  const isShown = (id: string) =>
    watch.seen(id).some(({ at, status }) => at > since && status === "offline");
  return new Set(instanceIds.filter((id) => offline.has(id) || isShown(id)));
}

const isOnline = ({ status, statusReason }: Sighting) =>
  status === "online" && statusReason === null;

const portOf = ({ baseUrl }: ControlPlaneNode) => Number(new URL(baseUrl).port);
