// What stands for the agent's server at the host's end of an exposure: a few paths that record, echo, stream and flood, and
// a real WebSocket server that echoes.
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import type { TunnelHandler } from "./tunnel-host.ts";

export interface ExposedServer extends AsyncDisposable {
  handle: TunnelHandler;
  /** The headers of every request so far. */
  requests: IncomingHttpHeaders[];
  /** Streams of events that are open. */
  events: Set<ServerHttp2Stream>;
  /** The paths below `/upload` whose body came to its end. */
  whole: string[];
  /** Bytes that `/flood` has written so far. */
  flooded(): number;
}

/**
 * Paths: `/echo` returns the body, `/upload…` reads it, `/events` sends an event and stays open, `/flood` sends without end, `/silent` never
 * answers, `/bytes/<number>` sends so many, `/headers` returns the headers `x-…`, `/cookie` answers with headers that must not pass; others say hello.
 */
export async function startExposedServer(): Promise<ExposedServer> {
  const webSockets = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
  await once(webSockets, "listening");
  webSockets.on("connection", (socket) => {
    socket.on("error", () => {});
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  const { port } = webSockets.address() as AddressInfo;
  const requests: IncomingHttpHeaders[] = [];
  const whole: string[] = [];
  const events = new Set<ServerHttp2Stream>();
  const chunk = Buffer.alloc(64 * 1024, "x");
  let flooded = 0;

  function flood(stream: ServerHttp2Stream): void {
    while (!stream.destroyed) {
      flooded += chunk.length;
      if (!stream.write(chunk)) return void stream.once("drain", () => flood(stream));
    }
  }

  const handle: TunnelHandler = (stream, headers) => {
    requests.push(headers);
    const path = String(headers[":path"]);
    const [, size] = /^\/bytes\/(\d+)/.exec(path) ?? [];
    if (headers[":method"] === "CONNECT") return joinWebSocket(stream, headers, port);
    if (path === "/silent") return;
    if (path === "/echo") {
      stream.respond({ ":status": 200, "content-type": "application/octet-stream" });
      stream.pipe(stream);
    } else if (path.startsWith("/upload")) {
      stream.resume();
      stream.once("end", () => {
        if (!stream.aborted) whole.push(path);
        stream.respond({ ":status": 200 });
        stream.end();
      });
    } else if (path === "/events") {
      stream.respond({ ":status": 200, "content-type": "text/event-stream" });
      stream.write("data: hello\n\n");
      events.add(stream);
      stream.once("close", () => events.delete(stream));
    } else if (path === "/flood") {
      stream.respond({ ":status": 200 });
      flood(stream);
    } else if (path === "/headers") {
      const own = Object.entries(headers).filter(([name]) => name.startsWith("x-"));
      stream.respond({ ":status": 200, ...Object.fromEntries(own) });
      stream.end();
    } else if (size !== undefined) {
      stream.respond({ ":status": 200, "content-length": size });
      stream.end(Buffer.alloc(Number(size), "x"));
    } else if (path === "/cookie") {
      stream.respond({
        ":status": 302,
        "set-cookie": ["a=b; Domain=exposures.example; Path=/"],
        location: "https://other.example/",
        "www-authenticate": "Basic",
        "access-control-allow-origin": "*",
      });
      stream.end();
    } else {
      stream.respond({ ":status": 200, "content-type": "text/plain" });
      stream.end("hello");
    }
  };
  return {
    handle,
    requests,
    events,
    whole,
    flooded: () => flooded,
    async [Symbol.asyncDispose]() {
      for (const socket of webSockets.clients) socket.terminate();
      webSockets.close();
    },
  };
}

function joinWebSocket(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  port: number,
): void {
  if (headers[":path"] === "/refused") {
    stream.respond({ ":status": 403 });
    stream.end("refused");
    return;
  }
  const protocol = headers["sec-websocket-protocol"];
  const request = httpRequest({
    host: "127.0.0.1",
    port,
    headers: {
      ...(protocol !== undefined && { "sec-websocket-protocol": protocol }),
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-key": Buffer.alloc(16).toString("base64"),
      "sec-websocket-version": "13",
    },
  });
  request.on("error", () => stream.destroy());
  request.on("upgrade", (response, socket, early) => {
    if (stream.destroyed) {
      socket.destroy();
      return;
    }
    const chosen = response.headers["sec-websocket-protocol"];
    stream.respond({
      ":status": 200,
      ...(chosen !== undefined && { "sec-websocket-protocol": chosen }),
    });
    stream.write(early);
    socket.on("error", () => {});
    socket.pipe(stream).pipe(socket);
    socket.once("close", () => stream.destroy());
    stream.once("close", () => socket.destroy());
  });
  request.end();
}
