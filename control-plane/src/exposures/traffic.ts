// The traffic of exposures at one node, built from its parts: the public side, the tunnels of hosts, the private door for
// other nodes, and the watch that cuts what may no longer be used.
import type { Server } from "node:http";
import type { Fabric } from "../fabric/connection.ts";
import type { Log } from "../log.ts";
import { createClientAddress } from "./client-address.ts";
import { createCredentials } from "./credentials.ts";
import { openNodeDoor, type NodeDoor } from "./node-door.ts";
import type { ExposureUse, OpenExposure } from "./open-exposure.ts";
import { createOpenStreams, streamLimits, type StreamLimits } from "./open-streams.ts";
import { createPeers } from "./peers.ts";
import { listenAtPorts, listenForDomain, type PublicAddresses } from "./public-addresses.ts";
import { createPublicServer } from "./public-door.ts";
import { createThrottle } from "./throttle.ts";
import { createTunnelTokens } from "./tokens.ts";
import { createTunnelDoor } from "./tunnel-door.ts";
import { createTunnels } from "./tunnels.ts";
import { createUses } from "./uses.ts";
import { createExposureWatch } from "./watch.ts";

interface ListenAddress {
  host: string;
  port: number;
}

export interface ExposureTrafficParts {
  /** Host names below a domain, loopback ports, or no public side at all. */
  door: { domain: string; listen: ListenAddress } | "loopback" | undefined;
  /** Networks of proxies in front of the public side, whose X-Forwarded-For is believed. */
  proxies: readonly string[];
  /** The private door for other nodes. */
  nodeListen: ListenAddress;
  nodeId: string;
  /** The login name, the same for all exposures. */
  username: string;
  /** The same at all nodes. */
  tunnelSecret: Buffer;
  fabric: Pick<Fabric, "request" | "publish" | "subscribe" | "flush">;
  /** The time of the database. */
  now: () => number;
  /** undefined if the exposure has ended. */
  find: (exposureId: string) => Promise<OpenExposure | undefined>;
  /** Whether an exposure that was found may be used now. */
  mayUse: (exposure: OpenExposure) => Promise<boolean>;
  /** Which of these may be used now. */
  stillGood: (exposureIds: string[]) => Promise<Set<string>>;
  /** Asks the host to open a tunnel with this ticket. The message of a Refusal is shown to the user. */
  openTunnel: (exposure: OpenExposure, ticket: string) => Promise<void>;
  /** The loopback ports of all exposures that may be used. */
  listPorts: () => Promise<{ exposureId: string; port: number }[]>;
  /** If it throws, the counts are reported again with the next ones. */
  recordUse: (rows: ExposureUse[]) => Promise<void>;
  /** Counts an answer of the public side by its status, and by who gave it. */
  countAnswer: (status: number, from: "service" | "host") => void;
  limits?: Partial<StreamLimits>;
  log: Log;
}

export interface ExposureTraffic {
  /** The addresses of exposures; undefined before `start`, and without a public side. */
  addresses(): Pick<PublicAddresses, "takePort" | "urlOf"> | undefined;
  /** Handles the upgrades of a server that are for tunnels. The edge must leave these alone. */
  attach(server: Server): void;
  /** Throws a ConfigError if an address is in use. */
  start(): Promise<void>;
  /** Ends the traffic of an exposure at this node at once. */
  cut(exposureId: string): void;
  /** Open requests and WebSockets, and tunnels. */
  counts(): { streams: number; tunnels: number };
  /** New requests get tunnels at other nodes. Open streams go on until `close`. */
  drain(): void;
  /** Ends all traffic, and reports its last uses. */
  close(): Promise<void>;
}

export function createExposureTraffic(parts: ExposureTrafficParts): ExposureTraffic {
  const { door, now, log } = parts;
  const tokens = createTunnelTokens(parts.tunnelSecret, now);
  const streams = createOpenStreams({ ...streamLimits, ...parts.limits });
  const uses = createUses({ recordUse: parts.recordUse, now, log });
  let nodeDoor: NodeDoor | undefined;
  let addresses: PublicAddresses | undefined;
  const tunnels = createTunnels({
    nodeId: parts.nodeId,
    address: () => nodeDoor?.address ?? "",
    fabric: parts.fabric,
    tokens,
    peers: createPeers(tokens),
    openTunnel: parts.openTunnel,
    log,
  });
  const tunnelDoor = createTunnelDoor({ tokens, tunnels, now, waitMs: parts.limits?.waitMs, log });

  const credentials = createCredentials({
    username: parts.username,
    find: parts.find,
    mayUse: parts.mayUse,
    now,
    throttle: createThrottle({
      onLock: (network) =>
        log.warn(
          { network },
          "100 wrong passwords of exposures: the address is locked for a minute",
        ),
    }),
  });

  function warnOfProxy(peer: string): void {
    log.warn(
      { peer },
      "a request to an exposure has X-Forwarded-For, but HAWSER_EXPOSURE_PROXIES does not name its sender. If that is your proxy, name it: all users behind it share one limit of wrong passwords.",
    );
  }

  function cut(exposureId: string): void {
    credentials.forget(exposureId);
    streams.cut(exposureId);
    tunnels.cut(exposureId);
  }

  const watch = createExposureWatch({
    inUse() {
      const ids = tunnels.ids().map((id): [string, undefined] => [id, undefined]);
      return new Map<string, number | undefined>([...ids, ...streams.open()]);
    },
    stillGood: parts.stillGood,
    cut,
    now,
    log,
  });
  const makeServer = createPublicServer.bind(undefined, {
    credentials,
    streams,
    tunnels,
    uses,
    clientAddress: createClientAddress(parts.proxies, once(warnOfProxy)),
    countAnswer: parts.countAnswer,
    now,
    log,
  });

  return {
    addresses: () => addresses,
    attach: (server) => tunnelDoor.attach(server),
    async start() {
      nodeDoor = await openNodeDoor({
        listen: parts.nodeListen,
        tokens,
        held: (exposureId) => tunnels.held(exposureId),
      });
      if (door === "loopback") addresses = listenAtPorts(makeServer, parts);
      else if (door) addresses = await listenForDomain(makeServer, door);
      watch.start();
      uses.start();
    },
    cut,
    counts: () => ({ streams: streams.size(), tunnels: tunnels.ids().length }),
    drain() {
      tunnelDoor.close();
      tunnels.retire();
    },
    async close() {
      tunnelDoor.close();
      watch.close();
      await addresses?.close();
      tunnels.close();
      await nodeDoor?.close();
      await uses.close();
    },
  };
}

/** Calls `work` the first time only. */
function once<A extends unknown[]>(work: (...args: A) => void): (...args: A) => void {
  let isDone = false;
  return (...args) => {
    if (isDone) return;
    isDone = true;
    work(...args);
  };
}
