// The far ends of both sides, and the bare proxy, each in a process of its own: the host's end of a tunnel, a bare server
// that gives the same answers, and a bare reverse proxy of node:http in front of it.
import { once } from "node:events";
import { createServer, request, Agent, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Writable } from "node:stream";
import { createTunnelHost } from "@hawser/testkit/tunnel-host.ts";

export type TunnelEndOrder =
  | { role: "host"; nodeUrl: string; ticket: string }
  | { role: "origin" }
  | { role: "proxy"; origin: string };

const bodies = new Map<number, Buffer>();

/** `/bytes/<number>` sends so many bytes, `/events/<number>` so many events one by one. */
function answer(path: string, out: Writable): void {
  const [, kind, text] = /^\/(bytes|events)\/(\d+)$/.exec(path) ?? [];
  const count = Number(text);
  if (kind === "events") return sendEvents(out, count);
  let body = bodies.get(count);
  if (!body) bodies.set(count, (body = Buffer.alloc(count, "x")));
  out.end(body);
}

const event = `data: ${"x".repeat(200)}\n\n`;

/** As an agent writes: each event in a turn of the event loop of its own, and no faster than it is read. */
function sendEvents(out: Writable, left: number): void {
  if (left === 0) return void out.end();
  const next = () => setImmediate(() => sendEvents(out, left - 1));
  if (out.write(event)) next();
  else out.once("drain", next);
}

async function serve(order: TunnelEndOrder): Promise<string> {
  if (order.role === "host") {
    const host = createTunnelHost((stream, headers) => {
      stream.respond({ ":status": 200, "content-type": "application/octet-stream" });
      stream.resume();
      answer(String(headers[":path"]), stream);
    });
    await host.dial(order.nodeUrl, order.ticket);
    return "";
  }
  if (order.role === "origin") {
    return listen((incoming, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" });
      incoming.resume();
      answer(incoming.url ?? "", response);
    });
  }
  const agent = new Agent({ keepAlive: true });
  const origin = new URL(order.origin);
  return listen((incoming, response) => {
    const { method = "GET", url = "/", headers } = incoming;
    const { hostname: host, port } = origin;
    const out = request({ host, port, method, path: url, headers, agent }, (answered) => {
      response.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(response);
    });
    out.on("error", () => response.destroy());
    incoming.pipe(out);
  });
}

async function listen(handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

process.once("message", (order: TunnelEndOrder) => {
  serve(order).then(
    (result) => process.send!({ result }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
