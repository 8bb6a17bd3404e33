// A load balancer before nodes: each connection goes to the first node that accepts it. A test can let the
// node die in the middle of a call.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Balancer extends AsyncDisposable {
  url: string;
  /**
   * Calls `strike` once in the middle of a call of this action, and ends its connection without an answer.
   * `received`: when the node has the call. `answered`: when the node has answered, so the effect exists.
   */
  strikeAt(action: string, moment: "received" | "answered", strike: () => void): void;
}

export async function startBalancer(nodes: () => { baseUrl: string }[]): Promise<Balancer> {
  const sockets = new Set<Socket>();
  let planned: { path: string; moment: string; strike: () => void } | undefined;

  function strike(pair: Socket[]): void {
    planned!.strike();
    planned = undefined;
    pair.forEach((socket) => socket.destroy());
  }

  function join(near: Socket, far: Socket): void {
    let isStruck = false;
    const pair = [near, far];
    near.on("data", (chunk: Buffer) => {
      const isMeant = planned !== undefined && chunk.includes(planned.path);
      far.write(chunk, () => {
        if (isMeant && planned?.moment === "received") strike(pair);
      });
      isStruck ||= isMeant;
    });
    far.on("data", (chunk: Buffer) => {
      if (isStruck && planned?.moment === "answered") strike(pair);
      else near.write(chunk);
    });
    for (const socket of pair) {
      sockets.add(socket);
      socket.setNoDelay(true).on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        pair.forEach((each) => each.destroy());
      });
    }
  }

  const server = createServer((near) => {
    near.on("error", () => {}).pause();
    void firstAccepting(nodes()).then((far) => {
      if (!far) return near.destroy();
      join(near, far);
      return near.resume();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    strikeAt(action, moment, strike) {
      planned = { path: `POST /api/rest/actions/${action} `, moment, strike };
    },
    [Symbol.asyncDispose]() {
      sockets.forEach((socket) => socket.destroy());
      server.close();
      return Promise.resolve();
    },
  };
}

/** Undefined if no node accepts the connection. */
async function firstAccepting(nodes: { baseUrl: string }[]): Promise<Socket | undefined> {
  for (const { baseUrl } of nodes) {
    const { hostname, port } = new URL(baseUrl);
    const socket = connect(Number(port), hostname);
    try {
      await once(socket, "connect");
      return socket;
    } catch {
      socket.destroy();
    }
  }
  return undefined;
}
