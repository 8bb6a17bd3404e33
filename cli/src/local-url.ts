// The address at which this machine reaches its own node. The public address leads through a proxy, which may be
// missing, or may not be reachable from here.

/** The remembered settings that decide where the node listens. */
interface Listening {
  listenHost?: string;
  ports?: { http: number };
}

export const bracketed = (host: string) => (host.includes(":") ? `[${host}]` : host);

export function localUrl({ host, port }: { host: string; port: number }): string {
  const own: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  return `http://${bracketed(own[host] ?? host)}:${port}`;
}

/** undefined if the service has never been started. */
export function ownUrl({ listenHost: host = "127.0.0.1", ports }: Listening): string | undefined {
  return ports && localUrl({ host, port: ports.http });
}
