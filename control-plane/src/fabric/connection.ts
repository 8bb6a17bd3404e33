// A node's connections to the fabric: one in the account of the hosts, and one in the system account,
// which reports who is connected and receives revocations.
import { makeNkey, nkeyFromSeed } from "@hawser/host-protocol";
import type { Log } from "../log.ts";
import { dialAccount, type AccountConnection, type Data, type FabricAccount } from "./account.ts";
import { encodeClaims } from "./claims.ts";
import type { FabricKeys } from "./fabric-keys.ts";

export { FabricDown, FabricTimeout, NoResponders } from "./account.ts";

export interface Fabric extends FabricAccount {
  /** The answers of all edges or nodes that listen, until there are `most` of them or the time is over. */
  gather: AccountConnection["gather"];
  system: FabricAccount & {
    /**
     * Asks every nats-server. Returns fewer answers than there are servers if one did not answer in
     * time, and throws as `request` does if none did.
     */
    requestMany: (
      subject: string,
      data: Data,
      options: { timeoutMs: number },
    ) => Promise<Uint8Array[]>;
  };
  isConnected: () => boolean;
  /** Called when both connections are back. Messages that were published in the meantime were missed. */
  onReconnect: (callback: () => void) => void;
  onDisconnect: (callback: () => void) => void;
  /** Connects again with users that the keys of now have signed. */
  reconnect: () => Promise<void>;
  /** Processes the messages that have arrived, then closes. */
  close: () => Promise<void>;
}

export interface FabricOptions {
  /** Read at each connection: a rotation changes them. */
  keys: FabricKeys;
  /** host:port each. */
  urls: string[];
  /** The name of the connection. The name of an edge's connection shows others that the edge died. */
  name: string;
  log: Log;
}

/** Throws a ConfigError if NATS cannot be reached, does not know the keys, or is too old. */
export async function connectFabric({ keys, urls, name, log }: FabricOptions): Promise<Fabric> {
  const callbacks = { reconnect: [] as (() => void)[], disconnect: [] as (() => void)[] };
  const connections: AccountConnection[] = [];
  const isConnected = () => connections.every((connection) => connection.isUp());
  let wasConnected = true;
  const onChange = () => {
    // Both are usually lost and restored together, and the client may report either more than once.
    if (isConnected() === wasConnected) return;
    wasConnected = !wasConnected;
    for (const call of callbacks[wasConnected ? "reconnect" : "disconnect"]) {
      try {
        call();
      } catch (error) {
        log.error({ err: error }, "what follows a lost or regained connection failed");
      }
    }
  };
  const node = makeNkey("user");
  const dial = (
    connectionName: string,
    issuer: "systemAccountSeed" | "nodeSigningSeed",
    account: "systemAccountPublicKey" | "accountPublicKey",
  ) =>
    dialAccount({
      urls,
      name: connectionName,
      log,
      onChange,
      user: () => ({
        key: node,
        token: encodeClaims(nkeyFromSeed(keys[issuer]), {
          subject: node.publicKey,
          name,
          issuedAt: Math.floor(Date.now() / 1000),
          grant: { type: "user", issuer_account: keys[account], subs: -1, data: -1, payload: -1 },
        }),
      }),
    });
  const system = await dial(`${name} system`, "systemAccountSeed", "systemAccountPublicKey");
  const hosts = await dial(name, "nodeSigningSeed", "accountPublicKey").catch(
    async (error: unknown) => {
      await system.close();
      throw error;
    },
  );
  connections.push(system, hosts);
  const { request, publish, subscribe, flush, gather } = hosts;
  return {
    request,
    publish,
    subscribe,
    flush,
    gather,
    system: {
      request: system.request,
      publish: system.publish,
      subscribe: system.subscribe,
      flush: system.flush,
      async requestMany(subject, data, { timeoutMs }) {
        const known = await system.request("$SYS.REQ.SERVER.PING.STATSZ", "", { timeoutMs });
        const servers = countServers(known);
        const answers = await system.gather(subject, data, { most: servers, timeoutMs });
        if (answers.length < servers) {
          log.warn({ subject, servers, answers: answers.length }, "a nats-server did not answer");
        }
        return answers;
      },
    },
    isConnected,
    onReconnect: (callback) => void callbacks.reconnect.push(callback),
    onDisconnect: (callback) => void callbacks.disconnect.push(callback),
    async reconnect() {
      await system.reconnect();
      await hosts.reconnect();
    },
    async close() {
      callbacks.reconnect.length = callbacks.disconnect.length = 0;
      await Promise.all([hosts.close(), system.close()]);
    },
  };
}

/**
 * The number of servers that the answering server is linked to, plus one for itself. (Its own count of
 * active servers includes a killed one for minutes.)
 */
function countServers(answer: Uint8Array): number {
  const { statsz } = JSON.parse(Buffer.from(answer).toString()) as {
    statsz: { routes?: { name: string }[] };
  };
  return 1 + new Set(statsz.routes?.map(({ name }) => name)).size;
}
