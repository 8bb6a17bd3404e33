// Metrics, and the private address they are served at.
import { createServer, type Server } from "node:http";
import { Counter, Histogram, Registry, collectDefaultMetrics } from "prom-client";

export interface Metrics {
  observeCall(call: { action: string; transport: string; outcome: string; seconds: number }): void;
  /** Counts a report that was refused because its organization has used up its log bytes of the day. */
  countOverLogQuota(): void;
  /** Serves GET /metrics; the address must not be reachable from outside. */
  server: Server;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const calls = new Counter({
    name: "hawser_calls_total",
    help: "Calls by action, transport and outcome.",
    labelNames: ["action", "transport", "outcome"],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: "hawser_call_seconds",
    help: "How long calls took.",
    labelNames: ["action"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
    registers: [registry],
  });
  const overLogQuota = new Counter({
    name: "hawser_reports_over_quota_total",
    help: "Reports of hosts that were refused because of their organization's log quota.",
    registers: [registry],
  });
  return {
    countOverLogQuota: () => overLogQuota.inc(),
    observeCall(call) {
      calls.inc({ action: call.action, transport: call.transport, outcome: call.outcome });
      seconds.observe({ action: call.action }, call.seconds);
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
