// A tunnel to a server in this process, which serves as a preview does, for tests of what passes through it.
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createPreviewServe } from "@hawser/daemon/exposures/preview/serve.ts";
import { openTunnel, type Tunnel } from "@hawser/daemon/exposures/tunnel.ts";
import { silentLog } from "@hawser/daemon/log.ts";
import { startTunnelEdge, type AcceptedTunnel } from "./tunnel-edge.ts";

export interface PreviewBed extends AsyncDisposable {
  tunnel: AcceptedTunnel;
  opened: Tunnel;
  server: Server;
  port: number;
  /** Requests that reached the server. */
  seen: IncomingMessage[];
  /** Connections of the server that are open. */
  connections(): number;
  /** Bytes that the server has received on all connections. */
  received(): number;
  /**
   * Answers of the checks whose port it is, in their order; by default it is the session's. A list has the addresses
   * at which it is.
   */
  checks: (boolean | string[])[];
}

export async function startPreviewBed(answer: RequestListener): Promise<PreviewBed> {
  const edge = await startTunnelEdge();
  const seen: IncomingMessage[] = [];
  let connections = 0;
  let received = 0;
  const server = createServer((request, response) => {
    seen.push(request);
    answer(request, response);
  });
  server.on("connection", (socket) => {
    connections++;
    socket.on("close", () => {
      connections--;
      received += socket.bytesRead;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const checks: PreviewBed["checks"] = [];
  const hostsOf = () => {
    const check = checks.shift() ?? true;
    if (Array.isArray(check)) return check;
    return check ? ["127.0.0.1"] : [];
  };
  const serve = createPreviewServe({ port, ports: { hostsOf, list: () => [] }, log: silentLog });
  const accepted = edge.accept();
  const opened = await openTunnel(
    { url: edge.url, ticket: "t", log: silentLog, serve },
    AbortSignal.timeout(5_000),
  );
  return {
    tunnel: await accepted,
    opened,
    server,
    port,
    seen,
    connections: () => connections,
    received: () => received,
    checks,
    async [Symbol.asyncDispose]() {
      opened.close("stopped");
      await opened.ended;
      server.closeAllConnections();
      server.close();
      await edge[Symbol.asyncDispose]();
    },
  };
}
