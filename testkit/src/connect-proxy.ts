// An HTTP proxy on loopback that connects the given host names to one local port and refuses all others.
// A client that connects to github.com through it reaches a stand-in, without a change of name lookup.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface ConnectProxy extends AsyncDisposable {
  url: string;
}

export async function startConnectProxy(
  hosts: readonly string[],
  port: number,
): Promise<ConnectProxy> {
  const open = new Set<Duplex>();
  const keep = (socket: Duplex) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
  };
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on("connection", keep);
  server.on("connect", (request: IncomingMessage, client: Socket, head: Buffer) => {
    if (!hosts.some((host) => request.url === `${host}:443`)) {
      client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      return;
    }
    const target = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      target.write(head);
      client.pipe(target).pipe(client);
    });
    keep(target);
    target.once("close", () => client.destroy());
    client.once("close", () => target.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, "close");
    },
  };
}
