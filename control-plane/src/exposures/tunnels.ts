// Finds the way to the host of an exposure: the tunnel that this node holds, the tunnel of another node, or a new one that
// the host is asked to open. Requests that come together share one search.
import { setTimeout as pause } from "node:timers/promises";
import { Refusal } from "@hawser/contract";
import { exposureHereSubject, exposureWhereSubject } from "@hawser/host-protocol";
import { z } from "zod";
import type { Fabric } from "../fabric/connection.ts";
import type { Log } from "../log.ts";
import type { OpenExposure } from "./open-exposure.ts";
import type { Peers } from "./peers.ts";
import type { TunnelTokens } from "./tokens.ts";
import type { Tunnel, Way } from "./tunnel.ts";

export interface Tunnels {
  /** Throws NoTunnel, with what to show to the user. */
  reach(exposure: OpenExposure): Promise<Way>;
  /** A way that was returned has failed: the next request uses another one. */
  lost(exposureId: string): void;
  /** The tunnel that this node holds. */
  held(exposureId: string): Tunnel | undefined;
  /** Adds a tunnel that a host has opened. The tunnel that it replaces closes when its streams have ended. */
  add(exposureId: string, tunnel: Tunnel): void;
  /** The tunnel takes no more streams. */
  remove(exposureId: string, tunnel: Tunnel): void;
  /** Closes the tunnel that this node holds, with all its streams. */
  cut(exposureId: string): void;
  ids(): string[];
  /** Other nodes no longer find the tunnels of this one, which close when their streams have ended. */
  retire(): void;
  close(): void;
}

/** No tunnel to the host can be had. */
export class NoTunnel extends Error {
  readonly status: 503 | 504;
  constructor(status: 503 | 504, message: string) {
    super(message);
    this.status = status;
  }
}

export interface TunnelsParts {
  nodeId: string;
  /** The address of this node's private door, for other nodes. It is known once the door is open. */
  address: () => string;
  fabric: Pick<Fabric, "request" | "publish" | "subscribe" | "flush">;
  tokens: Pick<TunnelTokens, "makeTicket">;
  peers: Peers;
  /** Asks the host to open a tunnel with this ticket. */
  openTunnel: (exposure: OpenExposure, ticket: string) => Promise<void>;
  log: Log;
  timing?: typeof standardTiming;
}

const standardTiming = {
  /** How long another node may take to answer that it holds the tunnel. */
  whereMs: 500,
  /** How long a host may take to open a tunnel. */
  openMs: 15_000,
  askAgainMs: 4_000,
  /** How long a found node, or the failure to get a tunnel, is remembered. */
  rememberMs: 1_000,
};

const Holder = z.object({ nodeId: z.string(), address: z.string() });

export function createTunnels(parts: TunnelsParts): Tunnels {
  const { nodeId, fabric, tokens, peers, log, timing = standardTiming } = parts;
  const tunnels = new Map<string, { tunnel: Tunnel; unsubscribe: () => void }>();
  /** Searches that run, and what those of the last second have found. */
  const searches = new Map<string, { way: Promise<Way>; isOver: boolean }>();
  /** Searches that wait until a host has opened its tunnel, by exposure; each exposure has at most one. */
  const arrivals = new Map<string, PromiseWithResolvers<Way>>();
  const holder = () => JSON.stringify({ nodeId, address: parts.address() });

  /** The way by the node in an answer or notice; undefined if that is this node. Throws NoTunnel. */
  async function wayBy(data: Uint8Array, exposureId: string): Promise<Way | undefined> {
    const read = Holder.parse(JSON.parse(Buffer.from(data).toString()));
    if (read.nodeId === nodeId) return undefined;
    return peers.reach(read.address, exposureId).catch((error: unknown) => {
      log.warn(
        { err: error, nodeId: read.nodeId, address: read.address },
        "a node that holds a tunnel is out of reach: set HAWSER_NODE_LISTEN of each node to an address that the others reach",
      );
      // The host has its tunnel, and would open no other.
      const message = "The node of this service that the host is connected to cannot be reached.";
      throw new NoTunnel(503, `${message} Try again in a moment.`);
    });
  }

  /** The way by a node that holds a tunnel; undefined if there is none. Throws NoTunnel. */
  async function askNodes(exposureId: string): Promise<Way | undefined> {
    const options = { timeoutMs: timing.whereMs };
    const holder = await fabric
      .request(exposureWhereSubject(exposureId), "", options)
      // No node listens, or NATS is down: the host may still reach this node.
      .catch(() => undefined);
    return holder && wayBy(holder, exposureId);
  }

  async function openNew(exposure: OpenExposure): Promise<Way> {
    const { exposureId, instanceId } = exposure;
    const arrived = Promise.withResolvers<Way>();
    arrivals.set(exposureId, arrived);
    // Rejected while nothing awaits it, if NATS takes long.
    arrived.promise.catch(() => {});
    // Listens before the host is asked: its tunnel may arrive at another node at once.
    const unsubscribe = fabric.subscribe(exposureHereSubject(exposureId), {}, async ({ data }) => {
      try {
        const way = await wayBy(data, exposureId);
        if (way) arrived.resolve(way);
      } catch (error) {
        arrived.reject(error);
      }
    });
    const late = setTimeout(
      () =>
        arrived.reject(
          new NoTunnel(504, "The host did not open a tunnel in time. Try again in a moment."),
        ),
      timing.openMs,
    );
    const askHost = () => {
      const ticket = tokens.makeTicket({ exposureId, instanceId });
      parts
        .openTunnel(exposure, ticket)
        .catch((error: unknown) => arrived.reject(asNoTunnel(error, exposure)));
    };
    // The host may have opened a tunnel that was lost before it was ready.
    const again = setInterval(askHost, timing.askAgainMs);
    try {
      await Promise.race([fabric.flush().catch(() => {}), pause(timing.whereMs)]);
      askHost();
      return await arrived.promise;
    } finally {
      clearTimeout(late);
      clearInterval(again);
      unsubscribe();
      arrivals.delete(exposureId);
    }
  }

  function asNoTunnel(error: unknown, { exposureId, instanceId }: OpenExposure): NoTunnel {
    if (error instanceof Refusal) return new NoTunnel(503, error.message);
    log.warn({ err: error, exposureId, instanceId }, "a host could not be asked to open a tunnel");
    return new NoTunnel(503, "The host cannot be reached right now. Try again in a moment.");
  }

  async function search(exposure: OpenExposure): Promise<Way> {
    return (await askNodes(exposure.exposureId)) ?? (await openNew(exposure));
  }

  /** No-op while a search runs. */
  function forgetFound(exposureId: string): void {
    if (searches.get(exposureId)?.isOver) searches.delete(exposureId);
  }

  return {
    async reach(exposure) {
      const { exposureId } = exposure;
      const own = tunnels.get(exposureId);
      if (own) return own.tunnel;
      const known = searches.get(exposureId);
      if (known) return known.way;
      const found = { way: search(exposure), isOver: false };
      searches.set(exposureId, found);
      // A failure is remembered too: a host that cannot be reached is not asked for every request.
      const over = () => {
        found.isOver = true;
        setTimeout(() => {
          if (searches.get(exposureId) === found) searches.delete(exposureId);
        }, timing.rememberMs).unref();
      };
      found.way.then(over, over);
      return found.way;
    },
    lost: forgetFound,
    held: (exposureId) => tunnels.get(exposureId)?.tunnel,
    add(exposureId, tunnel) {
      const before = tunnels.get(exposureId);
      before?.unsubscribe();
      before?.tunnel.retire();
      const unsubscribe = fabric.subscribe(exposureWhereSubject(exposureId), {}, ({ respond }) =>
        respond(holder()),
      );
      tunnels.set(exposureId, { tunnel, unsubscribe });
      arrivals.get(exposureId)?.resolve(tunnel);
      fabric.publish(exposureHereSubject(exposureId), holder());
    },
    remove(exposureId, tunnel) {
      const found = tunnels.get(exposureId);
      if (found?.tunnel !== tunnel) return;
      found.unsubscribe();
      tunnels.delete(exposureId);
      forgetFound(exposureId);
    },
    cut: (exposureId) => tunnels.get(exposureId)?.tunnel.close(),
    ids: () => [...tunnels.keys()],
    retire() {
      for (const { tunnel } of tunnels.values()) tunnel.retire();
    },
    close() {
      for (const { reject } of arrivals.values()) {
        reject(new NoTunnel(503, "This node is stopping. Try again."));
      }
      for (const { tunnel } of tunnels.values()) tunnel.close();
      peers.close();
    },
  };
}
