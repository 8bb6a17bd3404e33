// Nodes that serve exposures, with everything around them real except for the database: their table is in memory, so that
// a test can end an exposure in any way at any moment.
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, request as httpRequest, type ClientRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { formatId } from "@hawser/contract";
import { createLog } from "@hawser/control-plane/log.ts";
import type { ExposureUse, OpenExposure } from "@hawser/control-plane/exposures/open-exposure.ts";
import { hashPassword } from "@hawser/control-plane/exposures/password-hash.ts";
import {
  createExposureTraffic,
  type ExposureTraffic,
  type ExposureTrafficParts,
} from "@hawser/control-plane/exposures/traffic.ts";
import { connectFabric } from "@hawser/control-plane/fabric/connection.ts";
import { makeFabricKeys } from "@hawser/control-plane/fabric/fabric-keys.ts";
import type { ExposureScope } from "@hawser/host-protocol";
import { freePort } from "./free-port.ts";
import { startNats } from "./nats.ts";
import { createTunnelHost, type TunnelHandler, type TunnelHost } from "./tunnel-host.ts";

export const exposureDomain = "exposures.example";
export const exposureUsername = "hawser";

export interface BedNode {
  traffic: ExposureTraffic;
  /** Where hosts open tunnels. */
  url: string;
  publicPort: number;
}

export interface MadeExposure extends OpenExposure {
  password: string;
  /** Its host name. */
  host: string;
  authorization: string;
}

export interface ExposureBed extends AsyncDisposable {
  nodes: BedNode[];
  host: TunnelHost;
  /** The answers that the nodes have counted: statuses, and who answered. */
  answers: [status: number, from: "service" | "host"][];
  /** The exposures that may be used. Removing one ends it. */
  exposures: Map<string, OpenExposure>;
  uses: ExposureUse[];
  /** The node that the host dials. */
  dialsNode: number;
  /** Throws instead of answering while it is set. */
  fault: { database?: Error; host?: Error };
  make(ttlMs?: number, scope?: ExposureScope): MadeExposure;
  /** A request to the public side, which is not sent yet. */
  request(exposure: MadeExposure, options?: RequestOptions): ClientRequest;
}

export interface RequestOptions {
  path?: string;
  method?: string;
  headers?: Record<string, string | string[]>;
  node?: number;
  localAddress?: string;
}

export type BedOptions = Partial<
  Pick<ExposureTrafficParts, "limits" | "proxies" | "recordUse" | "now">
> & {
  nodes?: number;
  loopback?: boolean;
  /** How many streams the host serves at once. */
  hostStreams?: number;
};

export async function startExposureBed(
  handle: TunnelHandler,
  options: BedOptions = {},
): Promise<ExposureBed> {
  await using startup = new AsyncDisposableStack();
  const log = createLog("silent");
  const { keys } = makeFabricKeys();
  const nats = startup.use(await startNats({ keys }));
  const host = startup.use(createTunnelHost(handle, options.hostStreams));
  const tunnelSecret = randomBytes(32);
  const exposures = new Map<string, OpenExposure>();
  const uses: ExposureUse[] = [];
  const nodes: BedNode[] = [];
  const now = options.now ?? Date.now;
  const isGood = (id: string) => (exposures.get(id)?.expiresAt ?? 0) > now();
  const checkDatabase = () => {
    if (bed.fault.database) throw bed.fault.database;
  };

  const bed: Omit<ExposureBed, typeof Symbol.asyncDispose> = {
    nodes,
    host,
    exposures,
    answers: [],
    uses,
    dialsNode: 0,
    fault: {},
    make(ttlMs = 3_600_000, scope = { kind: "instance" }) {
      const exposureId = formatId("exposure", randomUUID());
      const password = randomBytes(16).toString("base64url");
      const exposure: OpenExposure = {
        exposureId,
        organizationId: formatId("organization", randomUUID()),
        apiKeyId: formatId("apiKey", randomUUID()),
        instanceId: formatId("instance", randomUUID()),
        scope,
        passwordHash: hashPassword(password, scope.kind),
        expiresAt: now() + ttlMs,
        port: null,
      };
      exposures.set(exposureId, exposure);
      return {
        ...exposure,
        password,
        host: `${exposureId.replace("_", "-")}.${exposureDomain}`,
        authorization: basic(exposureUsername, password),
      };
    },
    request(exposure, { path = "/", method = "GET", headers = {}, node = 0, localAddress } = {}) {
      return httpRequest({
        host: "127.0.0.1",
        port: nodes[node]!.publicPort,
        path,
        method,
        headers: { host: exposure.host, authorization: exposure.authorization, ...headers },
        ...(localAddress !== undefined && { localAddress }),
      });
    },
  };

  for (let i = 0; i < (options.nodes ?? 1); i++) {
    const fabric = await connectFabric({ keys, urls: nats.urls, name: `node.${i}`, log });
    startup.defer(() => fabric.close());
    const publicPort = await freePort();
    const traffic = createExposureTraffic({
      door: options.loopback
        ? "loopback"
        : { domain: exposureDomain, listen: { host: "127.0.0.1", port: publicPort } },
      proxies: options.proxies ?? [],
      nodeListen: { host: "127.0.0.1", port: 0 },
      nodeId: `node-${i}`,
      username: exposureUsername,
      tunnelSecret,
      fabric,
      now,
      async find(id) {
        checkDatabase();
        return isGood(id) ? exposures.get(id) : undefined;
      },
      mayUse: async ({ exposureId }) => isGood(exposureId),
      async stillGood(ids) {
        checkDatabase();
        return new Set(ids.filter(isGood));
      },
      countAnswer: (...answer) => void bed.answers.push(answer),
      async listPorts() {
        checkDatabase();
        return [...exposures.values()].flatMap(({ exposureId, port }) =>
          port === null || !isGood(exposureId) ? [] : [{ exposureId, port }],
        );
      },
      async openTunnel(_exposure, ticket) {
        if (bed.fault.host) throw bed.fault.host;
        await host.dial(nodes[bed.dialsNode]!.url, ticket);
      },
      recordUse: options.recordUse ?? (async (rows) => void uses.push(...rows)),
      ...(options.limits && { limits: options.limits }),
      log,
    });
    startup.defer(() => traffic.close());
    const server = createServer((_request, response) => void response.writeHead(404).end());
    traffic.attach(server);
    const url = await listen(server);
    startup.defer(async () => {
      server.closeAllConnections();
      server.close();
    });
    await traffic.start();
    nodes.push({ traffic, url, publicPort });
  }
  const parts = startup.move();
  return Object.assign(bed, { [Symbol.asyncDispose]: () => parts.disposeAsync() });
}

export const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export interface Answered {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Sends a request and reads the whole answer. Rejects if the answer is cut. */
export async function answered(request: ClientRequest, body?: Buffer | string): Promise<Answered> {
  return new Promise((resolve, reject) => {
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("error", reject);
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks),
        }),
      );
    });
    request.end(body);
  });
}
