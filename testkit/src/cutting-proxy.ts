// A TCP proxy whose link can be cut, frozen or slowed, for everything that crosses a network. Frozen
// means half-open: both ends keep their connection and nothing arrives.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface CuttingProxy extends AsyncDisposable {
  port: number;
  /** Ends every connection and refuses new ones, until `heal`. */
  cut(): void;
  /** Passes no bytes in this direction. Neither end is notified. */
  freeze(direction?: "up" | "down" | "both"): void;
  /** Delays every byte by this long. */
  delay(ms: number): void;
  /** Ends every fault. Frozen connections resume with the bytes that were held back. */
  heal(): void;
  connections(): number;
}

type Direction = "up" | "down";

export async function startCuttingProxy(target: {
  port: number;
  host?: string;
}): Promise<CuttingProxy> {
  const pairs = new Set<[Socket, Socket]>();
  const frozen = new Set<Direction>();
  let thaw = Promise.withResolvers<void>();
  let isCut = false;
  let delayMs = 0;

  /** Passes bytes on in order, each chunk as soon as the link's state allows it. */
  async function pass(from: Socket, to: Socket, direction: Direction): Promise<void> {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      while (frozen.has(direction)) await thaw.promise;
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      if (to.destroyed) return;
      if (!to.write(chunk)) await once(to, "drain");
    }
    while (frozen.has(direction)) await thaw.promise;
    to.end();
  }

  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect({
      port: target.port,
      host: target.host ?? "127.0.0.1",
      allowHalfOpen: true,
    });
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        pairs.delete(pair);
        // A frozen link does not report to one end that the other has closed.
        if (frozen.size === 0) pair.forEach((each) => each.destroy());
      });
    }
    pass(near, far, "up").catch(() => far.destroy());
    pass(far, near, "down").catch(() => near.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      for (const pair of pairs) pair.forEach((socket) => socket.destroy());
    },
    freeze(direction = "both") {
      if (direction !== "down") frozen.add("up");
      if (direction !== "up") frozen.add("down");
    },
    delay(ms) {
      delayMs = ms;
    },
    heal() {
      isCut = false;
      delayMs = 0;
      frozen.clear();
      thaw.resolve();
      thaw = Promise.withResolvers();
    },
    connections: () => pairs.size,
    [Symbol.asyncDispose]() {
      frozen.clear();
      thaw.resolve();
      for (const pair of pairs) pair.forEach((socket) => socket.destroy());
      // Not awaited: a connection that is reset while it is accepted never counts as closed.
      server.close();
      return Promise.resolve();
    },
  };
}
