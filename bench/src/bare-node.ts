// The work of a node for a command, without the node: HTTP in, a transaction, a request to the host over
// NATS, a second transaction, HTTP out. It runs the product's own statements as the owner of the tables,
// through the driver's own pipelining. No key, no checks, no signature, no row-level security. Runs in a
// separate process.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { parseId } from "@hawser/contract";
import { insertEntry } from "@hawser/control-plane/audit/store.ts";
import { instanceExists } from "@hawser/control-plane/hosts/store.ts";
import { selectInstance } from "@hawser/control-plane/instances/store.ts";
import { noteFacts } from "@hawser/control-plane/instances/up-call-store.ts";
import { newestOfInstanceInStatus } from "@hawser/control-plane/sessions/store.ts";
import { commandSubject, nkeyFromSeed } from "@hawser/host-protocol";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import pg from "pg";
import { medianOf, takeOrders } from "./orders.ts";

export interface BareNodeOrders {
  start: {
    databaseUrl: string;
    connections: number;
    nats: { url: string; token: string; seed: string };
    organizationId: string;
    apiKeyId: string;
    /** Facts of every host, in the form of the columns. */
    facts: unknown[];
    /** Messages to a host; `idle` requests an answer of the same size without work. */
    command: string;
    idle: string;
  };
  /** Median times of the parts in milliseconds, each alone, in sequential calls. */
  parts: { instanceId: string; calls: number };
  /** Milliseconds of request and reply over NATS alone. */
  ping: { instanceIds: string[]; inFlight: number; seconds: number };
}

export interface BareParts {
  postgres: number;
  nats: number;
}

const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const mostActiveSessionsShown = 200;
const patienceMs = 10_000;

function openWork(
  { databaseUrl, connections, organizationId, apiKeyId, facts, command }: BareNodeOrders["start"],
  nats: NatsConnection,
) {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: connections,
    pipeline: true,
    options: "-c plan_cache_mode=force_generic_plan",
  });
  const audit = (instanceId: string, outcome: string, callId: string) => ({
    ...insertEntry,
    values: [
      organizationId,
      apiKeyId,
      null,
      null,
      "refresh_instance",
      outcome,
      { instanceId },
      outcome === "done" ? { instanceId } : {},
      callId,
      null,
    ],
  });

  async function prepare(instanceId: string, id: string, callId: string): Promise<void> {
    await inClient(pool, async (client) => {
      const [, found] = await Promise.all([
        client.query("BEGIN"),
        client.query({ ...instanceExists, values: [organizationId, id] }),
      ]);
      if (found.rows.length === 0) throw new Error(`There is no instance ${instanceId}.`);
      await Promise.all([
        client.query(audit(instanceId, "accepted", callId)),
        client.query("COMMIT"),
      ]);
    });
  }

  function conclude(instanceId: string, id: string, callId: string): Promise<object> {
    return inClient(pool, async (client) => {
      const [, , instance, active] = await Promise.all([
        client.query("BEGIN"),
        client.query({ ...noteFacts, values: [organizationId, id, ...facts, null] }),
        client.query<object>({ ...selectInstance, values: [organizationId, id] }),
        client.query<object>({
          ...newestOfInstanceInStatus,
          values: [organizationId, lastId, mostActiveSessionsShown, id, "active"],
        }),
        client.query(audit(instanceId, "done", callId)),
        client.query("COMMIT"),
      ]);
      return { ...instance.rows[0], activeSessions: active.rows };
    });
  }

  const transactions = async (instanceId: string, ask: () => Promise<unknown>) => {
    const id = parseId("instance", instanceId)!;
    const callId = randomUUID();
    await prepare(instanceId, id, callId);
    await ask();
    return conclude(instanceId, id, callId);
  };
  return {
    transactions,
    carryOut: (instanceId: string) =>
      transactions(instanceId, async () => {
        const options = { timeout: patienceMs };
        const reply = await nats.request(commandSubject(instanceId), command, options);
        return reply.json();
      }),
  };
}

/** Closes a client whose work failed, because its transaction may still be open. */
async function inClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    const result = await work(client);
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

let started: { nats: NatsConnection; work: ReturnType<typeof openWork>; idle: string };

takeOrders<BareNodeOrders>({
  async start(order) {
    const key = nkeyFromSeed(order.nats.seed);
    const nats = await connect({
      servers: order.nats.url,
      authenticator: (nonce) => ({
        jwt: order.nats.token,
        nkey: key.publicKey,
        sig: key.sign(nonce ?? "").toString("base64url"),
      }),
      maxReconnectAttempts: -1,
      reconnectTimeWait: 200,
      noAsyncTraces: true,
    });
    const work = openWork(order, nats);
    started = { nats, work, idle: order.idle };
    const server = createServer((request, response) => {
      const answer = (status: number, body: string) =>
        response.writeHead(status, { "content-type": "application/json" }).end(body);
      // HTTP alone: an answer of about the same size.
      if (request.url === "/http") {
        request.resume().on("end", () => answer(200, order.idle));
        return;
      }
      readInstance(request)
        .then(work.carryOut)
        .then(
          (result) => answer(200, JSON.stringify(result)),
          (error: unknown) => answer(500, String(error)),
        );
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
  async parts({ instanceId, calls }): Promise<BareParts> {
    const { nats, work, idle } = started;
    const nobody = () => Promise.resolve();
    return {
      postgres: await medianOf(calls, () => work.transactions(instanceId, nobody)),
      nats: await medianOf(calls, () => nats.request(commandSubject(instanceId), idle)),
    };
  },
  async ping({ instanceIds, inFlight, seconds }): Promise<number[]> {
    const took: number[] = [];
    const end = performance.now() + seconds * 1000;
    let next = 0;
    const one = async () => {
      for (let at = performance.now(); at < end; at = performance.now()) {
        const subject = commandSubject(instanceIds[next++ % instanceIds.length]!);
        await started.nats.request(subject, started.idle, { timeout: patienceMs });
        took.push(performance.now() - at);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, one));
    return took.sort((a, b) => a - b);
  },
});

async function readInstance(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return (JSON.parse(Buffer.concat(chunks).toString()) as { instanceId: string }).instanceId;
}
