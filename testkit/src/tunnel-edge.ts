// The control plane's end of tunnels, for tests of hosts: accepts WebSockets and sends HTTP/2 requests over them,
// as a node does.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { createWebSocketStream, WebSocketServer, type WebSocket } from "ws";

export interface TunnelEdge extends AsyncDisposable {
  /** Address of the control plane. */
  serverUrl: string;
  /** Address for tunnels. */
  url: string;
  /** What the hosts sent to open their WebSockets. */
  upgrades: IncomingMessage[];
  /** Refuses WebSockets with this status from now on; undefined: accepts them. */
  refuses: number | undefined;
  /** Waits for the next tunnel that a host opens. */
  accept(): Promise<AcceptedTunnel>;
}

export interface AcceptedTunnel {
  socket: WebSocket;
  session: ClientHttp2Session;
  /** Resolves with the code and the reason of the WebSocket's end. */
  closed: Promise<{ code: number; reason: string }>;
  /** The stream of a request, whose answer may go on. */
  open(headers: Record<string, string | string[]>, body?: unknown): ClientHttp2Stream;
  /** The whole answer. */
  ask(method: string, path: string, more?: Asking): Promise<EdgeAnswer>;
}

export interface Asking {
  headers?: Record<string, string | string[]>;
  body?: unknown;
}

export interface EdgeAnswer {
  /** 0 if the stream ended without an answer. */
  status: number;
  /** Whether the answer came to its end. */
  isWhole: boolean;
  headers: Record<string, unknown>;
  text: string;
  /** Throws if the answer is no JSON. */
  json(): unknown;
}

const patienceMs = 60_000;

export async function startTunnelEdge(): Promise<TunnelEdge> {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const waiting: ((tunnel: AcceptedTunnel) => void)[] = [];
  const upgrades: IncomingMessage[] = [];
  server.on("upgrade", (request, socket, head) => {
    upgrades.push(request);
    if (edge.refuses !== undefined) {
      socket.end(`HTTP/1.1 ${edge.refuses} Refused\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (opened) => waiting.shift()?.(speak(opened)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const edge: TunnelEdge = {
    serverUrl: `http://127.0.0.1:${port}`,
    url: `ws://127.0.0.1:${port}/api/hosts/tunnels`,
    upgrades,
    refuses: undefined,
    accept: () => new Promise((resolve) => waiting.push(resolve)),
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return edge;
}

function speak(socket: WebSocket): AcceptedTunnel {
  const duplex = createWebSocketStream(socket);
  duplex.on("error", () => {});
  const session = connect("http://host", { createConnection: () => duplex });
  session.on("error", () => {});
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once("close", (code, reason) => {
      session.destroy();
      resolve({ code, reason: reason.toString() });
    });
  });
  const open = (headers: Record<string, string | string[]>, body?: unknown) => {
    const stream = session.request(headers, { endStream: body === undefined });
    stream.on("error", () => {});
    if (body !== undefined) stream.end(typeof body === "string" ? body : JSON.stringify(body));
    return stream;
  };
  return {
    socket,
    session,
    closed,
    open,
    async ask(method, path, { headers = {}, body } = {}) {
      const type = body === undefined ? {} : { "content-type": "application/json" };
      const stream = open({ ":method": method, ":path": path, ...type, ...headers }, body);
      // Reads at once: Node discards unread data as soon as the answer is complete.
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      let got: Record<string, unknown> = {};
      stream.once("response", (answer) => (got = answer));
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`No answer to ${path}.`)), patienceMs);
        stream.once("close", () => {
          clearTimeout(late);
          resolve();
        });
      });
      const text = Buffer.concat(chunks).toString();
      return {
        status: Number(got[":status"] ?? 0),
        isWhole: stream.readableEnded && stream.rstCode === 0,
        headers: got,
        text,
        json: () => JSON.parse(text) as unknown,
      };
    },
  };
}
