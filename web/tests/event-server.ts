// For tests: a real HTTP server on loopback whose streams a test writes by hand.
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface OpenStream {
  path: string;
  headers: IncomingHttpHeaders;
  /** Begins the answer as an event stream, if it has not begun, and writes to it. */
  write: (text: string) => void;
  entry: (seq: number, update?: object) => void;
  /** Answers with a refusal instead. */
  refuse: (status: number, error?: object) => void;
  end: () => void;
  /** Cuts the connection as a lost network does. */
  cut: () => void;
  isOpen: () => boolean;
}

export interface EventServer extends AsyncDisposable {
  url: string;
  streams: OpenStream[];
  /** The next connection, or the one with this number. */
  stream: (number: number) => Promise<OpenStream>;
}

export async function startEventServer(): Promise<EventServer> {
  const streams: OpenStream[] = [];
  let waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    streams.push(openStream(request.url!, request.headers, response));
    for (const wake of waiting.splice(0)) wake();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    streams,
    async stream(number) {
      while (streams.length < number) {
        await new Promise<void>((resolve) => {
          waiting = [...waiting, resolve];
        });
      }
      return streams[number - 1]!;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function openStream(
  path: string,
  headers: IncomingHttpHeaders,
  response: ServerResponse,
): OpenStream {
  let open = true;
  response.on("close", () => (open = false));
  const write = (text: string) => {
    if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(text);
  };
  return {
    path,
    headers,
    write,
    entry(seq, update = { sessionUpdate: "unknown", raw: seq }) {
      const data = JSON.stringify({ seq, at: "2026-11-15T10:00:00.000Z", turnId: null, update });
      write(`id: ${seq}\nevent: entry\ndata: ${data}\n\n`);
    },
    refuse(status, error = {}) {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error }));
    },
    end: () => response.end(),
    cut: () => response.destroy(),
    isOpen: () => open,
  };
}
