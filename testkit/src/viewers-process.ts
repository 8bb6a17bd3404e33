// Many viewers of event streams in one process. viewers.ts controls it over IPC, and names the frames to
// count in its arguments.
import { connect, type Socket } from "node:net";
import { serveOrders } from "./orders.ts";
import type { Stream, ViewerOrders } from "./viewers.ts";

const sockets: Socket[] = [];
const prefix = "event: ";
const counts = new Map(process.argv.slice(2).map((name) => [prefix + name, 0]));
const awaited = new Map<string, number>();
const delays: number[] = [];
/** Written by the bench into an entry: milliseconds since 1970. */
const stamp = /"written (\d+)"/g;
const longestMark = 32;

function openStream({ url, key }: Stream): Promise<void> {
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

serveOrders({
  async open({ streams }: ViewerOrders["open"]) {
    await Promise.all(streams.map(openStream));
  },
  async frames({ name: shortName, count: wanted, patienceMs }: ViewerOrders["frames"]) {
    const name = prefix + shortName;
    const deadline = performance.now() + patienceMs;
    const goal = (awaited.get(name) ?? 0) + wanted;
    while (counts.get(name)! < goal) {
      if (performance.now() > deadline) {
        throw new Error(`${counts.get(name)} of ${goal} frames "${name}" came.`);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    awaited.set(name, goal);
  },
  counts: () =>
    Object.fromEntries([...counts].map(([name, count]) => [name.slice(prefix.length), count])),
  delays: () => delays.splice(0).sort((a, b) => a - b),
  close() {
    for (const socket of sockets.splice(0)) socket.destroy();
  },
});
