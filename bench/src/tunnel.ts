// The group `tunnel`: requests of an exposure through the public side, a WebSocket and HTTP/2 to a host's end, beside a
// bare reverse proxy of node:http to a bare server with the same answers.
import { fork, type ChildProcess } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { formatId } from "@hawser/contract";
import { createTunnelTokens } from "@hawser/control-plane/exposures/tokens.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { figureOf, type Figure, type Goal } from "./figure.ts";
import { latencyRounds, paceOf, throughputRounds, type Side } from "./rounds.ts";
import { say } from "./stage.ts";
import type { TunnelEndOrder } from "./tunnel-ends.ts";
import type { TunnelNodeOrder } from "./tunnel-node.ts";
import { ask, startLoadGenerator } from "./workers.ts";

const beside = "beside a bare node:http reverse proxy in front of a server with the same answers.";
const goals = {
  requests: {
    name: "tunnel_requests",
    unit: "/s",
    goal: 0.4,
    direction: "at least",
    meaning: `Requests of 1 kB through a tunnel, 32 at once, per second, ${beside}`,
  },
  bytes: {
    name: "tunnel_bytes",
    unit: "MB/s",
    goal: 0.4,
    direction: "at least",
    meaning: `Answers of 8 MB through a tunnel, 4 at once, ${beside}`,
  },
  events: {
    name: "tunnel_events",
    unit: "/s",
    goal: 0.4,
    direction: "at least",
    meaning: `Events of 200 bytes in 50 parallel streams through a tunnel, per second, ${beside}`,
  },
  firstByte: {
    name: "tunnel_first_byte",
    unit: "ms",
    goal: 5,
    direction: "at most",
    held: "difference",
    meaning: `Requests of 100 bytes through a tunnel, one at a time: median latency, ${beside}`,
  },
} satisfies Record<string, Goal>;

const largeBytes = 8 * 1024 * 1024;
const eventsPerStream = 200;

export async function* measureTunnel(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  const pace = paceOf(quick);
  await using stage = new AsyncDisposableStack();
  const start = (file: string): ChildProcess => {
    const child = fork(fileURLToPath(new URL(file, import.meta.url)));
    stage.defer(() => stopProcess(child));
    return child;
  };
  const end = async (order: TunnelEndOrder) => {
    const child = start("./tunnel-ends.ts");
    return { url: await ask<string>(child, order), pid: child.pid! };
  };
  const { node, headers, url } = await startOurs(start, end);
  const origin = await end({ role: "origin" });
  const proxy = await end({ role: "proxy", origin: origin.url });
  await using load = startLoadGenerator();

  const sides = (path: string, connections: number, body = ""): [Side, Side] => {
    const job = { bodies: [body], connections };
    return [
      { job: { ...job, url: `${url}${path}`, headers }, pid: node.pid! },
      { job: { ...job, url: `${proxy.url}${path}`, headers: {} }, pid: proxy.pid },
    ];
  };
  const scaled = async (goal: Goal, [ours, bare]: [Side, Side], factor: number) => {
    say(goal.name);
    const rounds = await throughputRounds(load, pace, ours, bare);
    const counted = rounds.map((round) => ({
      ours: round.ours * factor,
      bare: round.bare * factor,
    }));
    return [figureOf(goal, counted), goal] satisfies [Figure, Goal];
  };
  yield await scaled(goals.requests, sides("/bytes/1000", 32, "x".repeat(1_000)), 1);
  yield await scaled(goals.bytes, sides(`/bytes/${largeBytes}`, 4), largeBytes / 1e6);
  const events = sides(`/events/${eventsPerStream}`, 50);
  yield await scaled(goals.events, events, eventsPerStream);
  say(goals.firstByte.name);
  const latencies = await latencyRounds(load, pace, ...sides("/bytes/100", 1));
  yield [figureOf(goals.firstByte, latencies), goals.firstByte];
}

/** A node with an exposure whose tunnel is open. */
async function startOurs(
  start: (file: string) => ChildProcess,
  end: (order: TunnelEndOrder) => Promise<unknown>,
) {
  const exposureId = formatId("exposure", randomUUID());
  const instanceId = formatId("instance", randomUUID());
  const domain = "exposures.example";
  const [username, password] = ["hawser", randomBytes(16).toString("base64url")];
  const secret = randomBytes(32);
  const publicPort = await freePort();
  const node = start("./tunnel-node.ts");
  const order: TunnelNodeOrder = {
    exposureId,
    instanceId,
    domain,
    username,
    password,
    secret: secret.toString("hex"),
    publicPort,
  };
  const nodeUrl = await ask<string>(node, order);
  const ticket = createTunnelTokens(secret, Date.now).makeTicket({ exposureId, instanceId });
  await end({ role: "host", nodeUrl, ticket });
  const login = Buffer.from(`${username}:${password}`).toString("base64");
  return {
    node,
    url: `http://127.0.0.1:${publicPort}`,
    headers: {
      host: `${exposureId.replace("_", "-")}.${domain}`,
      authorization: `Basic ${login}`,
    },
  };
}
