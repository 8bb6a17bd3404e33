// Finds a loopback port on which no process listens. It lies below the range from which the system takes
// ports for outgoing connections, so that no connection uses it meanwhile.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

const lowest = 12_000;
const highest = 32_000;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest);
    const server = createServer();
    try {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
