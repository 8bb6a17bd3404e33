// Listening at an address of the settings. A refusal names the setting and what to do.
import { once } from "node:events";
import type { Server } from "node:net";
import { ConfigError } from "./config.ts";

export async function listen(
  server: Server,
  { host, port }: { host: string; port: number },
  setting: string,
): Promise<void> {
  server.listen(port, host);
  await once(server, "listening").catch((cause: NodeJS.ErrnoException) => {
    const refusal = refusals[cause.code ?? ""];
    if (!refusal) throw cause;
    const place = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    throw new ConfigError(`${setting}: ${refusal(place, setting)}`, { cause });
  });
}

type Refusal = (place: string, setting: string) => string;

const foreignAddress: Refusal = (place) =>
  `${place} is not an address of this machine. Set one that is, such as 127.0.0.1 with the same port.`;

const refusals: Record<string, Refusal> = {
  EADDRINUSE: (place, setting) =>
    `another program listens at ${place}. Stop that program, or set ${setting} to another port.`,
  EACCES: (place, setting) =>
    `this user may not listen at ${place}. Set ${setting} to a port of 1024 or above.`,
  EADDRNOTAVAIL: foreignAddress,
  ENOTFOUND: foreignAddress,
};
