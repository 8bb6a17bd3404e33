// What passes between the public side of a preview and the server of a session. The server is a web server of any kind, so
// all headers pass but those that are the exposure's own, or that would have an effect beyond it (N18, T29).
import type { IncomingHttpHeaders } from "node:http";
import {
  isPath,
  narrowedHeaders,
  securityHeaders,
  type Headers,
  type PassingRules,
} from "./headers.ts";

/** Headers about one connection, not about the request or the response. */
const connectionHeaders = [
  "connection",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** The login of the exposure, the way by which the request came, and what the host's end sets itself. */
const droppedOfRequest = new Set([
  ...connectionHeaders,
  "authorization",
  "cookie",
  "forwarded",
  "host",
  "proxy-authorization",
  "via",
  "x-real-ip",
]);
/** `x-hawser-`: what nodes send each other. */
const droppedPrefixes = /^(?:x-forwarded-|x-hawser-|sec-websocket-)/;

/** What would change the browser for longer than the preview lasts, or would replace the login of the exposure. */
const droppedOfResponse = new Set([
  ...connectionHeaders,
  "alt-svc",
  "clear-site-data",
  "date",
  "nel",
  "proxy-authenticate",
  "public-key-pins",
  "public-key-pins-report-only",
  "report-to",
  "service-worker-allowed",
  "set-cookie",
  "strict-transport-security",
  "www-authenticate",
]);

/** `hasOwnHost`: at a loopback port, a browser would send the cookies of the machine's other servers too. */
export function previewRules({ hasOwnHost }: { hasOwnHost: boolean }): PassingRules {
  function request(headers: IncomingHttpHeaders): Headers {
    const isDropped = (name: string) => droppedOfRequest.has(name) || droppedPrefixes.test(name);
    const forwarded = passed(headers, isDropped);
    if (hasOwnHost && headers.cookie !== undefined) forwarded["cookie"] = headers.cookie;
    return forwarded;
  }

  return {
    path: (url) => (isPath(url) ? url : undefined),
    request,
    handshake(headers) {
      // Extensions would have to be agreed on by both ends. Without them, the frames pass as they are.
      const protocol = headers["sec-websocket-protocol"];
      return {
        ...request(headers),
        ...(protocol !== undefined && { "sec-websocket-protocol": protocol }),
      };
    },
    response(headers, origin) {
      const cookies = hasOwnHost ? headers["set-cookie"]?.map(withoutDomain) : undefined;
      return {
        ...passed(headers, (name) => name.startsWith(":") || droppedOfResponse.has(name)),
        ...(cookies && { "set-cookie": cookies }),
        ...securityHeaders,
        // A page may frame pages of the same server.
        "x-frame-options": "SAMEORIGIN",
        ...narrowedHeaders(headers, origin, "'self'"),
      };
    },
  };
}

/** Without what the header `connection` names: that is about one connection too. */
function passed(headers: IncomingHttpHeaders, isDropped: (name: string) => boolean): Headers {
  const named = new Set(
    headers.connection?.split(",").map((name) => name.trim().toLowerCase()) ?? [],
  );
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || isDropped(name) || named.has(name) ? [] : [[name, value]],
    ),
  );
}

/** The cookie for this host name only: the other names of the domain are other exposures. */
const withoutDomain = (cookie: string): string =>
  cookie
    .split(";")
    .filter((part, at) => at === 0 || !/^\s*domain\s*(?:=|$)/i.test(part))
    .join(";");
