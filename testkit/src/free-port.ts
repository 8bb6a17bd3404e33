// Finds loopback ports for the parts that tests start. Test files run at the same time, and a part binds its port
// only after a while, so each process takes its ports from a block of its own. It holds the block by listening on
// the block's first port. All blocks lie below the range from which the system takes ports for outgoing connections.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

const lowest = 12_000;
const blocks = 500;
const blockSize = 40;

let next = 0;
let end = 0;
let taking: Promise<void> | undefined;

/** A port on which no process listens, and that no other call returns. */
export async function freePort(): Promise<number> {
  for (;;) {
    if (next === end) await (taking ??= takeBlock().finally(() => (taking = undefined)));
    else {
      const port = next++;
      if (await isPortFree(port)) return port;
    }
  }
}

async function takeBlock(): Promise<void> {
  for (;;) {
    const first = lowest + randomInt(blocks) * blockSize;
    const guard = await listen(first);
    if (!guard) continue;
    // The block is this process's until it ends.
    guard.unref();
    next = first + 1;
    end = first + blockSize;
    return;
  }
}

/** Whether no process listens on this loopback port. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = await listen(port);
  if (!server) return false;
  server.close();
  await once(server, "close");
  return true;
}

/** Undefined if the port is in use. */
async function listen(port: number): Promise<Server | undefined> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return server;
  } catch {
    return undefined;
  }
}
