// Headers between the clients of a preview and the server of a session. The server believes that it is used at
// localhost, as it is on a developer's own machine.
import type { IncomingHttpHeaders } from "node:http";
import type { IncomingHttpHeaders as IncomingHttp2Headers } from "node:http2";

/** Headers that concern one connection only. */
const hopByHop = `connection http2-settings keep-alive proxy-connection te trailer transfer-encoding
  upgrade`.split(/\s+/);

/** The exposure's login, addresses of clients, and what the daemon writes itself. */
const keptFromServer = new Set([
  ...hopByHop,
  ...`authorization content-length expect forwarded host origin proxy-authenticate proxy-authorization
  sec-websocket-accept sec-websocket-key x-real-ip`.split(/\s+/),
]);

/**
 * Headers that would have an effect beyond the preview. A challenge is one of them: no login reaches the server, and
 * a browser would forget the exposure's.
 */
const keptFromClient = new Set([
  ...hopByHop,
  ...`alt-svc clear-site-data proxy-authenticate public-key-pins public-key-pins-report-only
  strict-transport-security www-authenticate`.split(/\s+/),
]);

type Headers = Record<string, string | string[]>;

/** The headers of a request as they are sent to the server. `hasBody`: the request has a body, of known or unknown length. */
export function headersForServer(
  headers: IncomingHttp2Headers,
  port: number,
  hasBody: boolean,
): Headers {
  const sent = pick(
    headers,
    (name) =>
      !name.startsWith(":") && !name.startsWith("x-forwarded-") && !keptFromServer.has(name),
  );
  sent["host"] = `localhost:${port}`;
  // The control plane has checked that it is the preview's own.
  if (headers.origin !== undefined) sent["origin"] = `http://localhost:${port}`;
  const length = headers["content-length"];
  if (hasBody && length !== undefined) sent["content-length"] = length;
  // Without either, Node sends the body of a GET unframed, as if it were another request.
  else if (hasBody) sent["transfer-encoding"] = "chunked";
  return sent;
}

/** The headers of an answer as they are sent to the client. */
export function headersForClient(headers: IncomingHttpHeaders, port: number): Headers {
  const named = headers.connection?.toLowerCase().split(/\s*,\s*/) ?? [];
  const sent = pick(headers, (name) => !keptFromClient.has(name) && !named.includes(name));
  const { location, "set-cookie": cookies } = headers;
  if (location !== undefined) sent["location"] = withoutLocalhost(location, port);
  if (cookies !== undefined) sent["set-cookie"] = cookies.map(withoutDomain);
  return sent;
}

function pick(headers: Record<string, unknown>, isSent: (name: string) => boolean): Headers {
  const entries = Object.entries(headers).filter(
    ([name, value]) => isSent(name) && (typeof value === "string" || Array.isArray(value)),
  );
  return Object.fromEntries(entries) as Headers;
}

const localNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** A redirect to the server's own address, as a path of the preview. Others are returned unchanged. */
function withoutLocalhost(location: string, port: number): string {
  if (!URL.canParse(location)) return location;
  const url = new URL(location);
  const usual = url.protocol === "https:" ? "443" : "80";
  const isOwn = localNames.has(url.hostname) && (url.port || usual) === String(port);
  if (!/^https?:$/.test(url.protocol) || !isOwn) return location;
  // Two slashes at the beginning would be the name of another host.
  const path = url.pathname.startsWith("//") ? `/.${url.pathname}` : url.pathname;
  return `${path}${url.search}${url.hash}`;
}

const withoutDomain = (cookie: string) => cookie.replace(/;\s*domain\s*(?:=[^;]*)?(?=;|$)/gi, "");
