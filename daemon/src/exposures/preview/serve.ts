// Serves a port of a session to the clients of one preview, as long as processes of that session listen there.
import type { Socket } from "node:net";
import type { Log } from "../../log.ts";
import { answerFailure, refuseAsText, RequestRefused, type Serve } from "../answer.ts";
import { openSocket } from "../forward.ts";
import type { SessionPorts } from "./ports.ts";
import { passRequest } from "./request.ts";
import { passWebSocket } from "./web-socket.ts";

export interface PreviewOptions {
  port: number;
  ports: SessionPorts;
  log: Log;
}

export function createPreviewServe({ port, ports, log }: PreviewOptions): Serve {
  const serve: AsyncServe = async (stream, headers) => {
    const pass = wayOf(headers);
    const leaving = new AbortController();
    stream.once("close", () => leaving.abort());
    if (stream.destroyed) return;
    const socket = await connectToSession(port, ports, leaving.signal);
    leaving.signal.addEventListener("abort", () => socket.destroy());
    try {
      leaving.signal.throwIfAborted();
      await pass(stream, headers, socket, port);
    } catch (error) {
      if (stream.destroyed || stream.headersSent || error instanceof RequestRefused) throw error;
      throw failed(port);
    } finally {
      socket.destroy();
    }
  };
  return (stream, headers) => {
    serve(stream, headers).catch((error: unknown) => {
      const isPage = headers.accept?.includes("text/html") ?? false;
      if (isPage && error instanceof RequestRefused) refuseAsText(stream, error);
      else answerFailure(stream, error, log);
    });
  };
}

type AsyncServe = (...request: Parameters<Serve>) => Promise<void>;

/** Throws RequestRefused if the request cannot be written as one of HTTP/1.1. */
function wayOf(headers: Parameters<Serve>[1]): typeof passRequest {
  const { ":method": method = "", ":path": path = "", ":protocol": protocol } = headers;
  const isPath = /^\/[\x21-\x7e]*$/.test(path) || (method === "OPTIONS" && path === "*");
  if (isPath && method === "CONNECT" && protocol === "websocket") return passWebSocket;
  if (isPath && method !== "CONNECT") return passRequest;
  const message = "The request is neither one of HTTP with a path nor the start of a WebSocket.";
  throw new RequestRefused(400, "invalid_request", message);
}

/** Throws RequestRefused if the port is not the session's. No byte has been sent then. */
async function connectToSession(
  port: number,
  ports: SessionPorts,
  signal: AbortSignal,
): Promise<Socket> {
  for (const host of ports.hostsOf(port)) {
    if (signal.aborted) break;
    // A system may have no ::1, although a socket listens on ::, which the next address is for.
    const socket = await openSocket({ host, port }, signal).catch(() => undefined);
    if (!socket) continue;
    // Asked again now that there is a connection: the port may have changed hands just before it.
    if (ports.hostsOf(port).includes(host)) return socket;
    socket.destroy();
    // Another process was here a moment ago, and may be at the next address.
    break;
  }
  throw new RequestRefused(502, "port_closed", portClosed(port));
}

export const portClosed = (port: number) =>
  `No process of this session listens on port ${port} of the host, or another process listens there too. Start the server in this session, for example with run_shell, then try again. list_session_ports shows the ports that can be opened.`;

const failed = (port: number) =>
  new RequestRefused(
    502,
    "server_failed",
    `The server on port ${port} of the host closed the connection without a valid answer. Read its output, then try again.`,
  );
