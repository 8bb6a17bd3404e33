// What passes between the public side of an exposure of opencode and the host: a list of request headers, a list of
// response headers, and the path (N18). Everything else is dropped, in particular what a browser or a proxy in front
// adds.
import type { IncomingHttpHeaders } from "node:http";

export type Headers = Record<string, string | string[]>;

/** What passes between the public side of an exposure and the host. */
export interface PassingRules {
  /** The path of a request as it is forwarded; undefined if the request is refused. */
  path(url: string): string | undefined;
  /** The headers of a request that are forwarded. */
  request(headers: IncomingHttpHeaders): Headers;
  /** The headers of a WebSocket handshake that are forwarded. */
  handshake(headers: IncomingHttpHeaders): Headers;
  /** The headers of a response that are returned. `origin` is the exposure's own. */
  response(headers: IncomingHttpHeaders, origin: string): Headers;
}

/** What opencode's own clients send and what caching needs. */
const requestHeaders = [
  "accept",
  "accept-encoding",
  "accept-language",
  "cache-control",
  "content-length",
  "content-type",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "last-event-id",
  "range",
  "user-agent",
  "x-opencode-directory",
  "x-opencode-ticket",
  "x-opencode-workspace",
];

const responseHeaders = [
  "accept-ranges",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-range",
  "content-security-policy",
  "content-type",
  "etag",
  "expires",
  "last-modified",
  "retry-after",
  "vary",
  "x-accel-buffering",
  "x-next-cursor",
];

export function forwardedHeaders(headers: IncomingHttpHeaders): Headers {
  const forwarded: Headers = {};
  for (const name of requestHeaders) {
    const value = headers[name];
    if (value !== undefined) forwarded[name] = value;
  }
  return forwarded;
}

function forwardedHandshake(headers: IncomingHttpHeaders): Headers {
  const forwarded: Headers = {};
  for (const name of ["sec-websocket-protocol", "user-agent", "x-opencode-directory"]) {
    const value = headers[name];
    if (value !== undefined) forwarded[name] = value;
  }
  return forwarded;
}

/** Whether the target of a request is a path, with or without a query. */
export const isPath = (url: string): boolean => /^\/[\x21\x22\x24-\x7e]*$/.test(url);

/**
 * The path of a request as it is forwarded: without `auth_token`, opencode's own way to log in by address. undefined if
 * it is no path, or if a part of it cannot be decoded, because the agent server could decode it differently.
 */
export function forwardedPath(url: string): string | undefined {
  if (!isPath(url) || url.startsWith("//") || url.includes("\\")) return undefined;
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  if (decode(path) === undefined) return undefined;
  if (at < 0) return path;
  const kept: string[] = [];
  for (const pair of url.slice(at + 1).split("&")) {
    const name = decode(pair.split("=", 1)[0]!);
    if (name === undefined) return undefined;
    if (name.toLowerCase() !== "auth_token") kept.push(pair);
  }
  return kept.length === 0 ? path : `${path}?${kept.join("&")}`;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Sent with every answer of the public side. */
export const securityHeaders = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

export function returnedHeaders(headers: IncomingHttpHeaders, origin: string): Headers {
  const returned: Headers = { ...securityHeaders };
  for (const name of responseHeaders) {
    const value = headers[name];
    if (value !== undefined) returned[name] = value;
  }
  Object.assign(returned, narrowedHeaders(headers, origin, "'none'"));
  const location = headers.location === undefined ? undefined : ownPath(headers.location, origin);
  if (location !== undefined) returned["location"] = location;
  return returned;
}

/** The headers of a response with what every exposure adds: who may frame it, and who may cache it. */
export function narrowedHeaders(
  headers: IncomingHttpHeaders,
  origin: string,
  framedBy: "'none'" | "'self'",
): Headers {
  // Each policy is enforced, so the second one only narrows the first.
  const policies = [headers["content-security-policy"] ?? [], `frame-ancestors ${framedBy}`].flat();
  return {
    "content-security-policy": policies.join(", "),
    "cache-control": privateCaching(headers["cache-control"]),
    ...(origin.startsWith("https:") && { "strict-transport-security": "max-age=31536000" }),
  };
}

/** A shared cache must not keep what needs a password. */
function privateCaching(given: string | undefined): string {
  if (given === undefined) return "no-store";
  const kept = given
    .split(",")
    .map((directive) => directive.trim())
    .filter((directive) => !/^(?:public|private|s-maxage\b.*|)$/i.test(directive));
  return ["private", ...kept].join(", ");
}

/** The target of a redirect within the exposure, as a path; undefined if it leaves the exposure. */
function ownPath(location: string, origin: string): string | undefined {
  if (!URL.canParse(location, origin)) return undefined;
  const target = new URL(location, origin);
  return target.origin === origin ? `${target.pathname}${target.search}${target.hash}` : undefined;
}

export const opencodeRules: PassingRules = {
  path: forwardedPath,
  request: forwardedHeaders,
  handshake: forwardedHandshake,
  response: returnedHeaders,
};

/**
 * Why a browser's request is refused; undefined if it is not. A browser adds the password by itself, so a request that
 * another site has caused looks like one of the user (T29). Only the first page may be opened from elsewhere, as by a link.
 */
export function crossSiteReason(
  {
    method = "",
    url = "",
    headers,
  }: { method?: string | undefined; url?: string | undefined; headers: IncomingHttpHeaders },
  origin: string,
): string | undefined {
  if (headers["service-worker"] !== undefined) {
    return "Service workers are not served here, because they would outlive the exposure.";
  }
  if (headers.origin !== undefined && headers.origin !== origin) {
    return "This request comes from another site. Open the exposure's address itself.";
  }
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return undefined;
  const opensFirstPage =
    method === "GET" &&
    url === "/" &&
    headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-fetch-dest"] === "document";
  return opensFirstPage
    ? undefined
    : "This request was caused by another site. Open the exposure's address itself.";
}
