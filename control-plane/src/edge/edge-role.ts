// The edge as a process of its own: one port that hosts dial. What it needs of the fabric is passed in.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Refusal, errorBody } from "@hawser/contract";
import { fabricPath } from "@hawser/host-protocol";
import { listen } from "../listen.ts";
import { isWebSocketUpgrade } from "./admission.ts";
import { createEdge, type Edge, type EdgeParts } from "./edge.ts";

export interface EdgeRoleParts extends EdgeParts {
  listen: { host: string; port: number };
  /** How long a stopping edge goes on after it answers readiness requests with 503. */
  drainMs: number;
}

export interface EdgeRole extends Pick<Edge, "connections" | "load"> {
  address: AddressInfo;
  /** Answers readiness requests with "draining" for a while, then ends every link and the server. */
  stop(): Promise<void>;
}

export async function startEdgeRole(options: EdgeRoleParts): Promise<EdgeRole> {
  const { listen: place, drainMs, ...parts } = options;
  let draining = false;
  const edge = createEdge(parts);
  const server = createServer(
    { shouldUpgradeCallback: isWebSocketUpgrade, headersTimeout: 15_000, requestTimeout: 15_000 },
    (request, response) => answer(request, response, draining),
  );
  edge.attach(server);
  await listen(server, place, "HAWSER_LISTEN");
  const address = server.address() as AddressInfo;
  parts.log.info({ edgeId: parts.edgeId, address }, "edge ready");
  return {
    address,
    connections: () => edge.connections(),
    load: () => edge.load(),
    async stop() {
      draining = true;
      parts.log.info({ edgeId: parts.edgeId }, "edge stopping");
      await pause(drainMs);
      const closed = new Promise((resolve) => server.close(resolve));
      await edge.close();
      server.closeAllConnections();
      await closed;
      parts.log.info({ edgeId: parts.edgeId }, "edge stopped");
    },
  };
}

function answer(request: IncomingMessage, response: ServerResponse, draining: boolean): void {
  const text = (status: number, body: string) => void response.writeHead(status).end(body);
  if (request.url === "/healthz") return text(200, "ok\n");
  if (request.url === "/readyz") return draining ? text(503, "draining\n") : text(200, "ready\n");
  const refusal =
    request.url === fabricPath
      ? new Refusal("invalid_input", "Hosts connect here, by WebSocket.")
      : new Refusal("unknown_path", "Nothing is served at this path. Hosts use another.");
  response
    .writeHead(request.url === fabricPath ? 426 : 404, {
      "Content-Type": "application/json",
      ...(request.url === fabricPath && { Upgrade: "websocket", Connection: "Upgrade, close" }),
    })
    .end(JSON.stringify(errorBody(refusal)));
}
