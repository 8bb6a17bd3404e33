// The own nats-server, with the configuration that the control plane writes.
import { connect } from "node:net";
import { join } from "node:path";
import type { Nats } from "../engines/find-nats.ts";
import { partEnvironment } from "./environment.ts";
import { ownsPort } from "./port-owner.ts";
import type { Ports } from "./ports.ts";
import type { Part } from "./supervise.ts";

export const fabricOf = (dataDirectory: string) => join(dataDirectory, "fabric");

/** Without the monitor, which would show connections and tokens to every user of this machine. */
export const natsAddresses = ({ nats, websocket }: Ports) => ({
  listen: `127.0.0.1:${nats}`,
  websocket: `127.0.0.1:${websocket}`,
  monitor: "off",
});

export function natsPart(dataDirectory: string, nats: Nats, ports: Ports): Part {
  return {
    name: "nats-server",
    title: "nats-server",
    version: nats.version,
    program: nats.program,
    args: ["--config", join(fabricOf(dataDirectory), "nats-server.conf")],
    environment: partEnvironment(),
    async untilReady(pid, signal) {
      const all = [ports.nats, ports.websocket];
      await untilTrue(() => Promise.resolve(all.every((port) => ownsPort(pid, port))), signal);
      await untilTrue(() => greets(ports.nats), signal);
    },
    readyMs: 30_000,
    stopMs: 10_000,
  };
}

/** Whether a NATS server answers at the port: it speaks first. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: 5_000 });
    const finish = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("data", (bytes) => finish(bytes.toString("latin1").startsWith("INFO ")));
    socket.once("error", () => finish(false));
    socket.once("timeout", () => finish(false));
    socket.once("close", () => finish(false));
  });
}

/** Resolves when the address answers 200. */
export const untilOk = (url: string, signal: AbortSignal): Promise<void> =>
  untilTrue(() => isOk(url, AbortSignal.any([signal, AbortSignal.timeout(5_000)])), signal);

export async function isOk(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, { signal });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/** Asks again until the answer is true or the signal is aborted. */
export async function untilTrue(test: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await test())) {
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}
