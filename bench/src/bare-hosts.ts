// Hosts without the daemon: WebSocket clients directly on a nats-server, with one subscription each. They
// answer a command after the same commits that a daemon makes. Many run in one process, like testkit's
// light hosts.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { commandQueue, commandSubject, inboxPrefix, nkeyFromSeed } from "@hawser/host-protocol";
import { wsconnect, type NatsConnection } from "@nats-io/nats-core";
import { WebSocket } from "ws";
import { medianOf, takeOrders } from "./orders.ts";

export interface BareHostsOrders {
  start: {
    websocket: string;
    directory: string;
    hosts: { instanceId: string; token: string; seed: string }[];
    /** The stored outcome of a command, and the reply. */
    outcome: string;
    reply: string;
  };
  /** Number of hosts that are connected and subscribed. */
  online: object;
  /** Median time of a command's commits, in milliseconds. */
  commits: { calls: number };
}

/** The window over which the daemons beside them spread their return, and the mean of their first wait. */
const reconnectJitter = 4_000;
const reconnectTimeWait = 125;
const dialledAtOnce = 16;

const online = new Set<NatsConnection>();
const journals: ReturnType<typeof openJournal>[] = [];

/**
 * The statements and settings of the daemon's journal, each in its own commit, as a simple program would
 * write them. The daemon needs two of the three commits.
 */
function openJournal(path: string, outcome: string) {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA synchronous = FULL;
    PRAGMA journal_mode = WAL;
    CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE commands (id TEXT PRIMARY KEY, command TEXT NOT NULL, begun_at INTEGER NOT NULL,
      finished_at INTEGER, outcome TEXT) WITHOUT ROWID;
  `);
  const begin = database.prepare(
    `INSERT INTO commands (id, command, begun_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const count = database.prepare(
    `INSERT INTO counters (name, value) VALUES (?, 1)
     ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value`,
  );
  const finish = database.prepare(
    `UPDATE commands SET outcome = ?, finished_at = ? WHERE id = ? AND outcome IS NULL`,
  );
  return {
    commitCommand(): void {
      const id = randomUUID();
      begin.run(id, "refresh_host_facts", Date.now());
      count.get("refresh_host_facts");
      finish.run(outcome, Date.now(), id);
    },
  };
}

async function addHost(
  { websocket, directory, outcome, reply }: BareHostsOrders["start"],
  { instanceId, token, seed }: BareHostsOrders["start"]["hosts"][number],
): Promise<void> {
  const key = nkeyFromSeed(seed);
  const journal = openJournal(join(directory, instanceId), outcome);
  journals.push(journal);
  const nats = await wsconnect({
    servers: `ws://${websocket}`,
    wsFactory: (url: string) =>
      Promise.resolve({
        socket: new WebSocket(url, {
          perMessageDeflate: false,
        }) as unknown as globalThis.WebSocket,
        encrypted: false,
      }),
    name: instanceId,
    authenticator: (nonce) => ({
      jwt: token,
      nkey: key.publicKey,
      sig: key.sign(nonce ?? "").toString("base64url"),
    }),
    inboxPrefix: inboxPrefix(instanceId),
    ignoreClusterUpdates: true,
    ignoreAuthErrorAbort: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait,
    reconnectJitter,
    pingInterval: 8_000,
    maxPingOut: 2,
    noAsyncTraces: true,
  });
  nats.subscribe(commandSubject(instanceId), {
    queue: commandQueue,
    callback: (error, message) => {
      if (error) throw error;
      // A text that begins with a brace is a command; anything else only needs the answer.
      if (message.data[0] === 0x7b) journal.commitCommand();
      message.respond(reply);
    },
  });
  await nats.flush();
  online.add(nats);
  void follow(nats);
}

async function follow(nats: NatsConnection): Promise<void> {
  for await (const status of nats.status()) {
    if (status.type === "disconnect") online.delete(nats);
    // A host is back when it can be asked again; the subscription is sent before the flush.
    else if (status.type === "reconnect")
      nats.flush().then(
        () => online.add(nats),
        () => {},
      );
  }
}

takeOrders<BareHostsOrders>({
  async start(order) {
    const waiting = [...order.hosts];
    const worker = async () => {
      for (let host = waiting.pop(); host; host = waiting.pop()) await addHost(order, host);
    };
    await Promise.all(Array.from({ length: dialledAtOnce }, worker));
  },
  online: () => Promise.resolve(online.size),
  commits: ({ calls }) => medianOf(calls, () => journals[0]!.commitCommand()),
});
