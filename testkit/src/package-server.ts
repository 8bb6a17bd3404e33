// A package server on loopback, instead of the registry from which hosts download: it serves the real
// tarballs that `npm run setup` fetches, and those that a test makes. A test can make it fail.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

/** The directory into which `npm run setup` fetches the packages. */
export const packageCache = fileURLToPath(new URL("../../.tools/agents/", import.meta.url));

/** flip: one byte is changed. short: the last byte is missing. cut: the connection breaks half-way. gone: 404. */
export type Fault = "flip" | "short" | "cut" | "gone";

export interface PackageServer extends AsyncDisposable {
  url: string;
  /** The requests, in order, with their range if they have one. */
  asked: { path: string; range: string | undefined }[];
  /** Serves these bytes at a path. */
  put: (path: string, bytes: Buffer) => void;
  /** Serves everything with this fault from now on; without a fault if undefined. */
  fail: (fault?: Fault) => void;
}

export async function startPackageServer(): Promise<PackageServer> {
  const made = new Map<string, Buffer>();
  const asked: PackageServer["asked"] = [];
  let fault: Fault | undefined;

  function sizeOf(path: string): number | undefined {
    const file = join(packageCache, path);
    return made.get(path)?.length ?? (existsSync(file) ? statSync(file).size : undefined);
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const path = normalize(decodeURIComponent(request.url ?? "").slice(1));
    const { range } = request.headers;
    asked.push({ path, range });
    const size = path.startsWith("..") ? undefined : sizeOf(path);
    if (size === undefined || fault === "gone") return void response.writeHead(404).end();
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
    const end = fault === "short" ? size - 1 : size;
    const headers = { "content-length": end - from };
    if (from > 0) {
      response.writeHead(206, { ...headers, "content-range": `bytes ${from}-${end - 1}/${size}` });
    } else {
      response.writeHead(200, headers);
    }
    const bytes = made.get(path);
    const source = bytes
      ? [bytes.subarray(from, end)]
      : createReadStream(join(packageCache, path), { start: from, end: end - 1 });
    void send(source, response, from, end).catch(() => response.destroy());
  }

  async function send(
    source: AsyncIterable<Buffer> | Iterable<Buffer>,
    response: ServerResponse,
    from: number,
    end: number,
  ): Promise<void> {
    let at = from;
    const half = Math.floor((from + end) / 2);
    for await (const part of source) {
      const next = at + part.length;
      let sent: Buffer = part;
      if (fault === "flip" && at <= half && half < next) {
        sent = Buffer.from(part);
        sent[half - at]! ^= 1;
      }
      if (fault === "cut" && next >= half) {
        response.write(part.subarray(0, Math.max(1, half - at)), () => response.destroy());
        return;
      }
      if (!response.write(sent)) await new Promise((resolve) => response.once("drain", resolve));
      if (response.destroyed) return;
      at = next;
    }
    response.end();
  }

  const server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    put: (path, bytes) => void made.set(path, bytes),
    fail: (next) => void (fault = next),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
