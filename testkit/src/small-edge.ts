// For tests of the daemon: connects hosts' links to a nats-server, and can cut or freeze them.
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";

export function openLinks(webSocketPort: number) {
  const links = new Set<{ host: Socket; fabric: Socket }>();
  return {
    count: () => links.size,

    /** Forwards an upgrade to the fabric, and then bytes in both directions until one side closes. */
    join(request: IncomingMessage, host: Socket, head: Buffer): void {
      const fabric = connect(webSocketPort, "127.0.0.1");
      const link = { host, fabric };
      links.add(link);
      for (const [one, other] of [
        [host, fabric],
        [fabric, host],
      ] as const) {
        one.on("error", () => other.destroy());
        one.on("close", () => {
          other.destroy();
          links.delete(link);
        });
      }
      const names = request.rawHeaders.filter((_, index) => index % 2 === 0);
      const lines = names.map((name, index) => `${name}: ${request.rawHeaders[index * 2 + 1]}`);
      fabric.write(`GET ${request.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      fabric.write(head);
      host.pipe(fabric);
      fabric.pipe(host);
    },

    /** Cuts every link, like an edge that dies. */
    cut(): void {
      for (const { host, fabric } of links) {
        host.destroy();
        fabric.destroy();
      }
    },

    /** Keeps every link open, and forwards nothing any more in either direction. */
    freeze(): void {
      for (const { host, fabric } of links) {
        host.unpipe(fabric);
        fabric.unpipe(host);
        host.pause();
        fabric.pause();
      }
    },
  };
}

export function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const finish = (can: boolean) => {
      socket.destroy();
      resolve(can);
    };
    socket.on("connect", () => finish(true));
    socket.on("error", () => finish(false));
  });
}
