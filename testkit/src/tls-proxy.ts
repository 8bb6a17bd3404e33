// The proxy in front of exposures, as far as it matters to a browser: it ends TLS for all names of a domain and forwards
// the bytes.
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { makeCertificate } from "./certificate-authority.ts";
import { removeDirectory } from "./remove-directory.ts";

/** Listens at a loopback port and forwards to another one. */
export async function startTlsProxy(
  domain: string,
  ports: { listen: number; forwardTo: number },
): Promise<AsyncDisposable> {
  const place = mkdtempSync(join(tmpdir(), "hawser-tls-proxy-"));
  const { key, certificate } = makeCertificate(place, [`*.${domain}`]);
  const open = new Set<Socket>();
  const server = createServer({ key, cert: certificate }, (socket) => {
    const target = connect(ports.forwardTo, "127.0.0.1");
    socket.pipe(target).pipe(socket);
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => other.destroy());
    }
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  server.listen(ports.listen, "127.0.0.1");
  await once(server, "listening");
  return {
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, "close");
      removeDirectory(place);
    },
  };
}
