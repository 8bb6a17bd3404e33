// Requests of the daemon itself go through the proxies that its environment names, as those of the programs
// that it starts do. Node's own fetch does not use these variables unless it is switched on.
import http from "node:http";
import https from "node:https";

const names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];

/** The service and the agents' own servers may be on this machine, where a proxy cannot reach them. */
const loopback = "127.0.0.1,localhost,::1,[::1]";

let areUsed = false;

/** No-op if the environment names no proxy. Call it before the first request. */
export function useProxies(own: NodeJS.ProcessEnv = process.env): void {
  const named = Object.entries(own).filter(([name, value]) => names.includes(name) && value);
  if (named.length === 0) return;
  http.setGlobalProxyFromEnv({ ...Object.fromEntries(named), no_proxy: notProxied(own) });
  areUsed = true;
}

/** Value of `no_proxy` with the addresses of this machine added. */
export function notProxied(own: NodeJS.ProcessEnv): string {
  const except = own["no_proxy"] ?? own["NO_PROXY"] ?? "";
  return except === "*" ? except : [except, loopback].filter(Boolean).join(",");
}

/** The agent for a WebSocket, which uses no agent by itself; undefined without proxies. */
export function proxyAgent(url: URL): http.Agent | undefined {
  if (!areUsed) return undefined;
  return url.protocol === "wss:" ? https.globalAgent : http.globalAgent;
}
