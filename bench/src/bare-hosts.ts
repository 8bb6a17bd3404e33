// Hosts without the daemon: WebSocket clients straight on a nats-server, one subscription each, which
// answer a command after the commits that a daemon makes for one. Many in one process, as testkit's
// light hosts are.
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
    /** What is kept as a command's outcome and what is replied. */
    outcome: string;
    reply: string;
  };
  /** How many have their connection and their subscription. */
  online: object;
  /** The median of a command's commits in milliseconds. */
  commits: { calls: number };
}

/** The window over which a daemon, too, spreads its return; and the middle of its first wait. */
const reconnectJitter = 4_000;
const reconnectTimeWait = 125;
const dialledAtOnce = 16;

const online = new Set<NatsConnection>();
const journals: ReturnType<typeof openJournal>[] = [];

/**
 * The statements and settings of the daemon's journal, each a commit of its own, as a program that
 * takes no care would write them. The daemon makes two of the three.
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
      // A text that begins with a brace is a command; anything else wants only the answer.
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
    // Back is who can be asked again, and the subscription goes out before the flush does.
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
