// Loopback ports. The service's own port is remembered, because hosts know the service by it; those between
// the parts are replaced when another program has them.
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { CommandFailed } from "../command-failed.ts";
import type { Settings } from "../settings.ts";

export type Ports = NonNullable<Settings["ports"]>;

const usualPort = 7433;
/** A process of a former start may need a moment to release its port. */
const patienceMs = 3_000;

export function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Different free ports of loopback. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(0, "127.0.0.1", resolve);
      });
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

export interface WantedPorts {
  /** The ports of former starts. */
  known: Ports | undefined;
  /** The port of --listen. */
  asked: number | undefined;
  /** The network interface at which the node listens. */
  host: string;
}

/** Throws CommandFailed if the service's port is taken. */
export async function choosePorts({ known, asked, host }: WantedPorts): Promise<Ports> {
  const http = await chooseHttp(asked || known?.http || asked, asked !== undefined, host);
  const former = known && [known.nats, known.websocket, known.monitor];
  const isUsable = former && (await Promise.all(former.map((port) => isFree(port, "127.0.0.1"))));
  const [nats, websocket, monitor] = isUsable?.every(Boolean) ? former! : await freePorts(3);
  return { http, nats: nats!, websocket: websocket!, monitor: monitor! };
}

async function chooseHttp(
  wanted: number | undefined,
  isAsked: boolean,
  host: string,
): Promise<number> {
  if (wanted === undefined) {
    return (await isFree(usualPort, host)) ? usualPort : (await freePorts(1))[0]!;
  }
  if (wanted === 0) return (await freePorts(1))[0]!;
  const deadline = Date.now() + patienceMs;
  while (!(await isFree(wanted, host))) {
    if (Date.now() > deadline) {
      throw new CommandFailed(
        `Port ${wanted} at ${host} is used by another program${isAsked ? "" : ", and hosts know this service by that port"}. End that program, or choose another port: hawser up --listen ${host}:PORT`,
      );
    }
    await pause(100);
  }
  return wanted;
}

/** The parts of HOST:PORT. Throws CommandFailed. */
export function parseListen(text: string): { host: string; port: number } {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535) {
    throw new CommandFailed(
      `--listen needs an address and a port, such as 127.0.0.1:7433, and "${text}" is none.`,
      2,
    );
  }
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
