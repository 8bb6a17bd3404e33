// For tests of the daemon: links joined with a nats-server, which can be cut or frozen, and the
// waiting and ending that go with real processes.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export function openLinks(webSocketPort: number) {
  const links = new Set<{ host: Socket; fabric: Socket }>();
  return {
    count: () => links.size,

    /** Carries an upgrade to the fabric, and then bytes both ways until one side closes. */
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

    /** Every link is cut, as by an edge that dies. */
    cut(): void {
      for (const { host, fabric } of links) {
        host.destroy();
        fabric.destroy();
      }
    },

    /** Every link stays open and carries nothing any more, in either direction. */
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

/** Looks again and again until it is so; fails after ten seconds with the sentence. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  sentence: string,
  patienceMs = 10_000,
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`Not so within ${patienceMs} ms: ${sentence}.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
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
