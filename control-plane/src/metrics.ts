// Metrics, and the private address they are served at.
import { createServer, type Server } from "node:http";
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import type { PushedRevocations } from "./fabric/revocation.ts";
import type { PartitionLead } from "./postgres/partitions.ts";
import type { QueueAges } from "./queue-ages.ts";
import type { WaitingDeliveries } from "./webhooks/watch.ts";

export interface Metrics extends LinkMetrics {
  observeCall(call: { action: string; transport: string; outcome: string; seconds: number }): void;
  /** How long work waited for a connection to the database. */
  observePoolWait(pool: string, seconds: number): void;
  /** Replaces how far ahead there are partitions. It is shown for a few hours. */
  showPartitionLeads(leads: readonly PartitionLead[]): void;
  /** How late a schedule's time was claimed. */
  observeLateness(seconds: number): void;
  /** How late an event was sent to a webhook, after its time or that of its retry. */
  observeDelivery(seconds: number): void;
  /** Replaces how many events wait for webhooks. It is shown for a few minutes. */
  showDeliveries(deliveries: WaitingDeliveries): void;
  /** Serves GET /metrics; the address must not be reachable from outside. */
  server: Server;
}

/** Metrics of hosts and their links. */
export interface LinkMetrics {
  /** Counts a report that was refused because its organization has used up its log bytes of the day. */
  countOverLogQuota(): void;
  /** Counts an answer to a host of which there is no record, neither paired nor removed. */
  countUnknownHost(): void;
  /** Counts a gap in the notices of other nodes. */
  countLostNotices(): void;
  /** `count` returns how many links are open at this node's edge. */
  showLinks(count: () => number): void;
  /** Counts an answer of this node's edge to a host that dials, by its HTTP status. */
  countLinkAnswer(status: number): void;
  /** Counts an answer of the public side of exposures, by its HTTP status and by who gave it. */
  countExposureAnswer(status: number, from: "service" | "host"): void;
  /** `count` returns what is open of exposures at this node. */
  showExposures(count: () => { tunnels: number; streams: number }): void;
  /** `read` returns the window over which hosts spread their return. */
  showReconnectWindow(read: () => number): void;
  /** How long a comparison of presence with the connections of NATS took. */
  observeComparison(seconds: number): void;
  /** Replaces the numbers of hosts by status. They are shown for a few minutes. */
  showHosts(hosts: readonly { status: string; hosts: number }[]): void;
  /** Shows what the last push of revocations has sent. */
  showRevocations(pushed: PushedRevocations): void;
  /** Shows how many pushes of revocations have failed since the last one that succeeded. */
  showFailedPushes(failures: number): void;
}

/** One node counts the hosts every minute, and one node creates partitions every hour. */
const hostsShownMs = 3 * 60_000;
const deliveriesShownMs = 3 * 60_000;
const leadsShownMs = 3 * 3_600_000;

export function createMetrics(queueAges: QueueAges): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const calls = new Counter({
    name: "hawser_calls_total",
    help: "Calls by action, transport and outcome.",
    labelNames: ["action", "transport", "outcome"],
    registers,
  });
  const callSeconds = new Histogram({
    name: "hawser_call_seconds",
    help: "How long calls took.",
    labelNames: ["action"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
    registers,
  });
  const overLogQuota = new Counter({
    name: "hawser_reports_over_quota_total",
    help: "Reports of hosts that were refused because of their organization's log quota.",
    registers,
  });
  const poolWaits = new Histogram({
    name: "hawser_pool_wait_seconds",
    help: "How long work waited for a database connection, by pool.",
    labelNames: ["pool"],
    buckets: [0.001, 0.01, 0.1, 0.5, 1, 2, 4],
    registers,
  });
  const lateness = new Histogram({
    name: "hawser_schedule_lateness_seconds",
    help: "How late runs of scheduled prompts were claimed after they were due.",
    buckets: [0.5, 1, 2, 5, 10, 30, 60, 600, 3_600],
    registers,
  });
  const deliveryLateness = new Histogram({
    name: "hawser_webhook_lateness_seconds",
    help: "How late events were sent to webhooks, after their time or that of their retry.",
    buckets: [0.5, 1, 2, 5, 10, 30, 60, 600],
    registers,
  });
  const comparisons = new Histogram({
    name: "hawser_presence_comparison_seconds",
    help: "How long comparisons of presence with the connections of NATS took.",
    buckets: [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60],
    registers,
  });
  new Gauge({
    name: "hawser_queue_age_seconds",
    help: "How long the oldest unfinished message of hosts has waited, by kind.",
    labelNames: ["queue"],
    registers,
    collect() {
      for (const [queue, seconds] of queueAges.read()) this.set({ queue }, seconds);
    },
  });
  let countLinks = () => 0;
  new Gauge({
    name: "hawser_links",
    help: "Links of hosts that are open at this node's edge.",
    registers,
    collect() {
      this.set(countLinks());
    },
  });
  const linkAnswers = new Counter({
    name: "hawser_link_answers_total",
    help: "Answers of this node's edge to hosts that dialled, by HTTP status. 101: linked. 503: no room, or no NATS.",
    labelNames: ["status"],
    registers,
  });
  const exposureAnswers = new Counter({
    name: "hawser_exposure_answers_total",
    help: "Answers to requests of exposures, by HTTP status. From the service, 401: wrong password. 429: locked, or over a limit. 502 to 504: the host could not be reached. From the host: what the exposed server answers.",
    labelNames: ["status", "from"],
    registers,
  });
  let countExposures = () => ({ tunnels: 0, streams: 0 });
  new Gauge({
    name: "hawser_exposure_tunnels",
    help: "Tunnels of hosts for exposures that are open at this node.",
    registers,
    collect() {
      this.set(countExposures().tunnels);
    },
  });
  new Gauge({
    name: "hawser_exposure_streams",
    help: "Requests and WebSockets of exposures that are open at this node.",
    registers,
    collect() {
      this.set(countExposures().streams);
    },
  });
  let readWindow = () => 0;
  new Gauge({
    name: "hawser_reconnect_window_seconds",
    help: "Time over which hosts spread their return when many links are lost at once.",
    registers,
    collect() {
      this.set(readWindow());
    },
  });
  /** A gauge with a label. A node that no longer reads its values stops showing them after this time. */
  function gaugeOfOneNode(name: string, help: string, label: string, shownMs: number) {
    let last: { at: number; values: readonly (readonly [string, number])[] } | undefined;
    new Gauge({
      name,
      help: `${help} One node at a time shows it.`,
      labelNames: [label],
      registers,
      collect() {
        this.reset();
        if (!last || performance.now() - last.at > shownMs) return;
        for (const [of, value] of last.values) this.set({ [label]: of }, value);
      },
    });
    return (values: readonly (readonly [string, number])[]) =>
      void (last = { at: performance.now(), values });
  }
  const showHosts = gaugeOfOneNode("hawser_hosts", "Hosts by status.", "status", hostsShownMs);
  const showLeads = gaugeOfOneNode(
    "hawser_partition_lead_seconds",
    "Time until a table has no partition for new rows.",
    "table",
    leadsShownMs,
  );
  const showWaiting = gaugeOfOneNode(
    "hawser_webhook_deliveries",
    "Events that are on their way to webhooks, by state.",
    "state",
    deliveriesShownMs,
  );
  const showOldest = gaugeOfOneNode(
    "hawser_webhook_oldest_seconds",
    "Age of the oldest event that is on its way to a webhook, by state.",
    "state",
    deliveriesShownMs,
  );
  const unknownHosts = new Counter({
    name: "hawser_unknown_host_answers_total",
    help: "Answers to hosts of which the database has no record. More than a few: records were lost.",
    registers,
  });
  const lostNotices = new Counter({
    name: "hawser_notice_gaps_total",
    help: "How often notices of a node did not arrive here. Viewers then read the database.",
    registers,
  });
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const revocations = gauge("hawser_revocations", "Revoked hosts that NATS servers know.");
  const revocationBytes = gauge("hawser_revocation_bytes", "Size of the message that lists them.");
  const omitted = gauge(
    "hawser_revocations_omitted",
    "Revoked hosts for which that message has no room. Nodes disconnect them if they connect.",
  );
  const failedPushes = gauge(
    "hawser_revocation_push_failures",
    "Pushes of revocations that failed since the last success. More than 0: removed hosts may be connected.",
  );
  return {
    showRevocations(pushed) {
      revocations.set(pushed.entries);
      revocationBytes.set(pushed.bytes);
      omitted.set(pushed.omitted);
    },
    showFailedPushes: (failures) => failedPushes.set(failures),
    countOverLogQuota: () => overLogQuota.inc(),
    countUnknownHost: () => unknownHosts.inc(),
    countLostNotices: () => lostNotices.inc(),
    showLinks: (count) => void (countLinks = count),
    countLinkAnswer: (status) => linkAnswers.inc({ status }),
    countExposureAnswer: (status, from) => exposureAnswers.inc({ status, from }),
    showExposures: (count) => void (countExposures = count),
    showReconnectWindow: (read) => void (readWindow = read),
    observeComparison: (seconds) => comparisons.observe(seconds),
    showHosts: (counted) => showHosts(counted.map(({ status, hosts }) => [status, hosts])),
    showPartitionLeads: (leads) =>
      showLeads(leads.map(({ partitioned, seconds }) => [partitioned, seconds])),
    observeLateness: (seconds) => lateness.observe(seconds),
    observeDelivery: (seconds) => deliveryLateness.observe(seconds),
    showDeliveries({ waiting, oldestSeconds }) {
      showWaiting([["waiting", waiting]]);
      showOldest([["waiting", oldestSeconds]]);
    },
    observePoolWait: (pool, seconds) => poolWaits.observe({ pool }, seconds),
    observeCall(call) {
      calls.inc({ action: call.action, transport: call.transport, outcome: call.outcome });
      callSeconds.observe({ action: call.action }, call.seconds);
    },
    server: createServer((request, response) => {
      if (request.url !== "/metrics") {
        response.writeHead(404).end();
        return;
      }
      registry.metrics().then(
        (text) => response.writeHead(200, { "content-type": registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    }),
  };
}
