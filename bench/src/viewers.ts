// Many viewers of event streams in one process. They only read and count frames, so that the server is
// measured and not the viewers. session-stage.ts controls them over IPC.
import { connect, type Socket } from "node:net";
import { takeOrders } from "./orders.ts";

export interface ViewerOrders {
  /** Opens this many streams of each address and resolves when all were answered 200. */
  open: { urls: string[]; each: number; key: string };
  /** Resolves with the elapsed milliseconds when this many more frames of this name have arrived since the last call. */
  frames: { name: string; count: number; patienceMs: number };
  /** Delays of entries; the text of each contains the time of writing. */
  delays: object;
  close: object;
}

const sockets: Socket[] = [];
const counts = new Map<string, number>();
const taken = new Map<string, number>();
const delays: number[] = [];
/** Written by the bench into an entry: milliseconds since 1970. */
const stamp = /"written (\d+)"/g;
const longestMark = 32;

async function open({ urls, each, key }: ViewerOrders["open"]): Promise<void> {
  const opening = urls.flatMap((url) =>
    Array.from({ length: each }, () => {
      const { hostname, port, host, pathname, search } = new URL(url);
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      socket.write(
        `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
      );
      return new Promise<void>((resolve, reject) => {
        let isOpen = false;
        let tail = "";
        socket.on("error", reject);
        socket.on("data", (chunk) => {
          tail = count(tail, chunk);
          if (isOpen) return;
          isOpen = true;
          if (chunk.subarray(0, 12).toString() === "HTTP/1.1 200") resolve();
          else reject(new Error(chunk.toString().slice(0, 300)));
        });
      });
    }),
  );
  await Promise.all(opening);
}

/** Returns the end of a chunk, so that a frame split over two chunks is found with the next one. */
function count(tail: string, chunk: Buffer): string {
  const text = tail + chunk.toString("latin1");
  for (const [name] of counts) {
    let found = 0;
    let at = text.indexOf(name, Math.max(0, tail.length - name.length + 1));
    for (; at !== -1; at = text.indexOf(name, at + name.length)) found++;
    counts.set(name, counts.get(name)! + found);
  }
  const now = Date.now();
  for (const match of text.matchAll(stamp)) {
    if (match.index + match[0].length > tail.length) delays.push(now - Number(match[1]));
  }
  return text.slice(-longestMark);
}

for (const name of ["event: live", "event: entry"]) counts.set(name, 0);

takeOrders<ViewerOrders>({
  open,
  async frames({ name, count: wanted, patienceMs }) {
    const startedAt = performance.now();
    const goal = (taken.get(name) ?? 0) + wanted;
    while (counts.get(name)! < goal) {
      if (performance.now() - startedAt > patienceMs) {
        throw new Error(`${counts.get(name)} of ${goal} frames "${name}" came.`);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    taken.set(name, goal);
    return performance.now() - startedAt;
  },
  delays: () => Promise.resolve(delays.splice(0).sort((a, b) => a - b)),
  close() {
    for (const socket of sockets.splice(0)) socket.destroy();
    return Promise.resolve();
  },
});
