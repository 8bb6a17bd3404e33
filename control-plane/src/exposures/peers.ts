// The ways to exposures whose tunnel another node holds: HTTP/2 to the private door of that node, with a token for each
// request (N20). Each exposure has a connection of its own, because the streams of a connection share a window: clients
// that do not read would stop the others.
import { connect, type ClientHttp2Session } from "node:http2";
import type { TunnelTokens } from "./tokens.ts";
import {
  connectionWindow,
  mostHeaders,
  sessionMemoryMegabytes,
  streamWindow,
  type Way,
} from "./tunnel.ts";

export interface Peers {
  /** The way to an exposure by the node at this address, "host:port". Throws if the node does not answer. */
  reach(address: string, exposureId: string): Promise<Way>;
  close(): void;
}

/** Request headers between nodes. */
export const exposureHeader = "x-hawser-exposure";
export const nodeTokenHeader = "x-hawser-node-token";

const connectMs = 3_000;
const pingMs = 10_000;
/** A connection without streams is closed after this time. */
const idleMs = 60_000;

export function createPeers(tokens: Pick<TunnelTokens, "makeNodeToken">): Peers {
  /** By address and exposure. */
  const peers = new Map<string, Promise<ClientHttp2Session>>();

  function dial(address: string, key: string): Promise<ClientHttp2Session> {
    const session = connect(`http://${address}`, {
      settings: { enablePush: false, initialWindowSize: streamWindow },
      maxSessionMemory: sessionMemoryMegabytes,
      maxHeaderListPairs: mostHeaders,
    });
    const late = setTimeout(() => session.destroy(), connectMs);
    let isAnswered = true;
    const pings = setInterval(() => {
      if (!isAnswered || session.destroyed) return session.destroy();
      isAnswered = false;
      session.ping((error) => {
        if (!error) isAnswered = true;
      });
    }, pingMs);
    const ready = Promise.withResolvers<ClientHttp2Session>();
    session.on("error", ready.reject);
    session.once("remoteSettings", () => {
      clearTimeout(late);
      session.setLocalWindowSize(connectionWindow);
      session.setTimeout(idleMs, () => session.close());
      ready.resolve(session);
    });
    const forget = () => {
      if (peers.get(key) === ready.promise) peers.delete(key);
    };
    session.once("goaway", forget);
    session.once("close", () => {
      clearTimeout(late);
      clearInterval(pings);
      forget();
      ready.reject(new Error(`The node at ${address} does not answer.`));
    });
    return ready.promise;
  }

  return {
    async reach(address, exposureId) {
      const key = `${address} ${exposureId}`;
      let peer = peers.get(key);
      if (!peer) peers.set(key, (peer = dial(address, key)));
      const session = await peer;
      return {
        open(headers, options) {
          if (session.closed) throw new Error("The other node is stopping.");
          const method = String(headers[":method"]);
          const path = String(headers[":path"]);
          const stream = session.request(
            {
              ...headers,
              [exposureHeader]: exposureId,
              [nodeTokenHeader]: tokens.makeNodeToken({ exposureId, method, path }),
            },
            options,
          );
          stream.on("error", () => {}); // "close" follows
          return stream;
        },
      };
    },
    close() {
      for (const peer of peers.values()) {
        peer.then(
          (session) => session.destroy(),
          () => {},
        );
      }
    },
  };
}
