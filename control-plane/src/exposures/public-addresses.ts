// Where the public side listens: one address for the host names of all exposures, or, for development, a loopback port for
// each exposure. Nodes compete for the ports, so those of a node that died are soon served by another one.
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { idPrefixes, parseId } from "@hawser/contract";
import { ConfigError } from "../config.ts";
import type { Log } from "../log.ts";
import type { Target } from "./public-door.ts";

export interface PublicAddresses {
  /** A port for a new exposure, at which this node listens; null if exposures have host names. */
  takePort(): Promise<number | null>;
  /** The address of an exposure. If `port` comes from `takePort`, this node serves the exposure there. */
  urlOf(exposureId: string, port: number | null): string;
  close(): Promise<void>;
}

/** Makes a server whose exposures are found by the Host header. */
export type MakeServer = (targetOf: (host: string) => Target) => Server;

/** Exposures are at `<label>.<domain>`; TLS ends in front of this server. */
export async function listenForDomain(
  makeServer: MakeServer,
  { domain, listen: address }: { domain: string; listen: { host: string; port: number } },
): Promise<PublicAddresses> {
  const server = makeServer((host) => ({
    exposureId: idInHost(host, domain),
    origin: `https://${host}`,
  }));
  await listen(server, address).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EADDRINUSE") throw cause;
    throw new ConfigError(
      `The address ${address.host}:${address.port} is already in use. Stop the program that listens there, or set another with HAWSER_EXPOSURE_LISTEN.`,
    );
  });
  return {
    takePort: () => Promise.resolve(null),
    urlOf: (exposureId) => `https://${labelOf(exposureId)}.${domain}`,
    close: () => closeServer(server),
  };
}

/** Ids contain an underscore, which host names may not. */
const labelOf = (exposureId: string): string => exposureId.replace("_", "-");

function idInHost(host: string, domain: string): string | undefined {
  if (!host.endsWith(`.${domain.toLowerCase()}`)) return undefined;
  const label = host.slice(0, -domain.length - 1);
  const id = label.replace(`${idPrefixes.exposure}-`, `${idPrefixes.exposure}_`);
  return parseId("exposure", id) === null ? undefined : id;
}

export interface PortParts {
  /** The ports of exposures that may be used. */
  listPorts: () => Promise<{ exposureId: string; port: number }[]>;
  log: Log;
}

const lookEveryMs = 1_000;
/** How long a port is kept whose exposure is not stored: the transaction that stores it may take a moment. */
const keepMs = 30_000;
/** How long a request that arrived before its port was closed may take: it is answered that the exposure has ended. */
const lastAnswersMs = 500;

interface ServedPort {
  /** undefined until the exposure is known. */
  exposureId: string | undefined;
  server: Server;
  since: number;
  /** Whether the exposure is known to be stored. */
  isStored: boolean;
}

export function listenAtPorts(
  makeServer: MakeServer,
  { listPorts, log }: PortParts,
): PublicAddresses {
  const served = new Map<number, ServedPort>();
  /** Servers of ended exposures, until they are closed. */
  const closing = new Set<Promise<void>>();
  let isLooking = false;
  let isClosed = false;

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      const wanted = new Map((await listPorts()).map(({ exposureId, port }) => [port, exposureId]));
      for (const [port, place] of served) {
        const isWanted = wanted.has(port) && wanted.get(port) === place.exposureId;
        place.isStored ||= isWanted;
        const isNew = !place.isStored && performance.now() - place.since < keepMs;
        if (isWanted || (isNew && !wanted.has(port))) continue;
        served.delete(port);
        const closed = closeServer(place.server, lastAnswersMs).finally(() =>
          closing.delete(closed),
        );
        closing.add(closed);
      }
      for (const [port, exposureId] of wanted) {
        if (!served.has(port) && !isClosed) await tryPort(port, exposureId);
      }
    } catch (error) {
      log.warn({ err: error }, "the ports of exposures could not be read");
    } finally {
      isLooking = false;
    }
  }

  /** No-op if another node or program has the port. */
  async function tryPort(port: number, exposureId: string): Promise<void> {
    try {
      await serve(port, exposureId);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return;
      log.warn({ err: error, port }, "the port of an exposure cannot be served");
    }
  }

  /** Port 0 stands for any free one. Returns the port. */
  async function serve(wantedPort: number, exposureId?: string): Promise<number> {
    const server = makeServer((host) => ({
      exposureId: hosts.includes(host) ? place.exposureId : undefined,
      origin: `http://${host}`,
    }));
    const place: ServedPort = {
      exposureId,
      server,
      since: performance.now(),
      isStored: exposureId !== undefined,
    };
    await listen(server, { host: "127.0.0.1", port: wantedPort });
    const { port } = server.address() as AddressInfo;
    // Another name for this machine is not accepted: a web page could have made it up (DNS rebinding).
    const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
    served.set(port, place);
    return port;
  }

  const timer = setInterval(() => void look(), lookEveryMs);
  void look();
  return {
    takePort: () => serve(0),
    urlOf(exposureId, port) {
      const place = served.get(port ?? 0);
      if (place) place.exposureId = exposureId;
      return `http://127.0.0.1:${port}`;
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      const servers = [...served.values()].map(({ server }) => closeServer(server));
      await Promise.all([...servers, ...closing]);
      served.clear();
    },
  };
}

/** The open connections of each server. */
const sockets = new WeakMap<Server, Set<Socket>>();

async function listen(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<void> {
  const open = new Set<Socket>();
  sockets.set(server, open);
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.listen(port, host);
  await once(server, "listening");
}

/** Listens no longer. Open requests have `patienceMs`, then their connections are cut. */
async function closeServer(server: Server, patienceMs = 0): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  if (patienceMs > 0) await Promise.race([closed, pause(patienceMs)]);
  // closeAllConnections would leave the connections of WebSockets open.
  sockets.get(server)?.forEach((socket) => socket.destroy());
  await closed;
}
