// From the measured points of the other experiments to a million hosts. Each line is also fitted without
// its largest point and must predict that point, or the prediction for a million means little.
import { atMost, reported, type Figure } from "./figure.ts";
import { fitLine, predictionError, slopes, type Point } from "./fit.ts";
import type { IdleGrowth } from "./idle-growth.ts";
import { growth, type InstancesPoint, type WorkCost } from "./instances.ts";
import type { Quantities } from "./meter.ts";

/** What the other experiments have measured. */
export interface Measured {
  idle: IdleGrowth;
  viewers: { points: Point[] };
  instances: readonly InstancesPoint[];
  walBytesPerEntry: number;
}

const hosts = 1_000_000;
const viewers = 100_000;
const sessions = 100_000;
/** Log entries of a session that is at work. */
const entriesPerSecond = 0.3;
/** One node reads the lists of all hosts this often. */
const listsEveryMs = 60_000;
const largestError = 0.2;
const megabyte = 1024 * 1024;

export function predict(measured: Measured): Figure[] {
  const { perHost } = measured.idle;
  const perViewer = slopes(measured.viewers.points);
  const ofHosts = (perHour: number) => (perHour * hosts) / 3600;
  const ofViewers = (perHour: number) => (perHour * viewers) / 3600;
  const lists = measured.instances.map((point) => listsOf(point, "milliseconds"));
  const listsAt = (points: typeof lists) => {
    const { fixed, each } = fitLine(points);
    return fixed + each * hosts;
  };
  const listsPostgresMs = listsAt(measured.instances.map((point) => listsOf(point, "postgresMs")));
  // The cost of a host was measured with at most 2,000 of them.
  const postgresSeconds = perHost.postgresSeconds * growthOfIdle(measured.instances);
  return [
    errorOf("idle_transactions", measured.idle.points, ({ transactions }) => transactions),
    errorOf("idle_wal", measured.idle.points, ({ walBytes }) => walBytes),
    errorOf("idle_cpu", measured.idle.points, cpuOf),
    errorOf("viewer_transactions", measured.viewers.points, ({ transactions }) => transactions),
    errorOf("viewer_cpu", measured.viewers.points, cpuOf),
    atMost("prediction_error_lists", predictionError(lists), largestError),
    report("1m_hosts_transactions_per_second", ofHosts(perHost.transactions)),
    report("1m_hosts_wal_mb_per_second", ofHosts(perHost.walBytes) / megabyte),
    report("1m_hosts_node_cores", ofHosts(perHost.nodeSeconds)),
    report("1m_hosts_postgres_cores", ofHosts(postgresSeconds) + listsPostgresMs / listsEveryMs),
    report("1m_hosts_nats_cores", ofHosts(perHost.natsSeconds)),
    report("1m_hosts_lists_ms", listsAt(lists)),
    report("100k_viewers_transactions_per_second", ofViewers(perViewer.transactions)),
    report("100k_viewers_node_cores", ofViewers(perViewer.nodeSeconds)),
    report("100k_viewers_postgres_cores", ofViewers(perViewer.postgresSeconds)),
    report(
      "100k_sessions_wal_mb_per_second",
      (sessions * entriesPerSecond * measured.walBytesPerEntry) / megabyte,
    ),
  ];
}

/** The cost of all lists of hosts, by the number of instances. */
function listsOf(
  { instances, lists }: InstancesPoint,
  quantity: keyof WorkCost,
): readonly [instances: number, cost: number] {
  return [instances, Object.values(lists).reduce((sum, cost) => sum + cost[quantity], 0)];
}

/** How much more the work for an idle host costs in the largest fleet: heartbeats, renewals, connections. */
function growthOfIdle(points: readonly InstancesPoint[]): number {
  const idle = ["heartbeat", "renewal", "presence_change", "hello"] as const;
  const cost = ({ work }: InstancesPoint) =>
    idle.reduce((sum, name) => sum + work[name].postgresMs, 0);
  return Math.max(1, growth(points, cost));
}

function errorOf(
  what: string,
  points: readonly Point[],
  value: (hourly: Quantities) => number,
): Figure {
  const error = predictionError(points.map(({ count, hourly }) => [count, value(hourly)]));
  return atMost(`prediction_error_${what}`, error, largestError);
}

const cpuOf = ({ nodeSeconds, postgresSeconds, natsSeconds }: Quantities) =>
  nodeSeconds + postgresSeconds + natsSeconds;

const report = (what: string, value: number) => reported(`prediction_${what}`, value);
