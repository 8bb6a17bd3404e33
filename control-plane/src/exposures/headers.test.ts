// Which headers and paths pass between the public side of an exposure and the host (N18, T29).
import assert from "node:assert/strict";
import { test } from "node:test";
import { crossSiteReason, forwardedHeaders, forwardedPath, returnedHeaders } from "./headers.ts";

const origin = "https://exp-1.exposures.example";

test("N18: a path is forwarded without auth_token, in whatever way that is written", () => {
  const cases: [string, string | undefined][] = [
    ["/", "/"],
    ["/session/ses_1?directory=%2Fa&x=1", "/session/ses_1?directory=%2Fa&x=1"],
    ["/a?auth_token=secret", "/a"],
    ["/a?x=1&auth_token=secret&y=2", "/a?x=1&y=2"],
    ["/a?auth_token=1&auth_token=2", "/a"],
    ["/a?%61uth_token=secret&y", "/a?y"],
    ["/a?AUTH_TOKEN=secret", "/a"],
    ["/a?auth_token", "/a"],
    ["/a?x=auth_token", "/a?x=auth_token"],
    ["/a?", "/a?"],
    ["/a?auth%5token=1", undefined],
    ["/%zz", undefined],
    ["//other.example/", undefined],
    ["http://other.example/", undefined],
    ["*", undefined],
    ["", undefined],
    ["/a#b", undefined],
    ["/a\\b", undefined],
    ["/a b", undefined],
    ["/ä", undefined],
  ];
  for (const [url, path] of cases) assert.equal(forwardedPath(url), path, url);
});

test("N18: only listed request headers are forwarded", () => {
  const forwarded = forwardedHeaders({
    accept: "*/*",
    authorization: "Basic x",
    cookie: "a=b",
    forwarded: "for=1.2.3.4",
    "x-forwarded-for": "1.2.3.4",
    "x-real-ip": "1.2.3.4",
    connection: "keep-alive",
    "proxy-authorization": "Basic x",
    te: "trailers",
    "x-opencode-directory": "/a",
  });
  assert.deepEqual(forwarded, { accept: "*/*", "x-opencode-directory": "/a" });
});

test("N18: cookies, foreign redirects, logins and cross-origin grants are not returned", () => {
  const { location, ...returned } = returnedHeaders(
    {
      "content-type": "text/html",
      "set-cookie": ["a=b"],
      "www-authenticate": "Basic",
      "access-control-allow-origin": "*",
      "service-worker-allowed": "/",
      "clear-site-data": '"*"',
      "alt-svc": "h3",
      refresh: "0; url=https://other.example",
      location: "https://other.example/",
      "content-security-policy": "default-src 'self'",
    },
    origin,
  );
  assert.equal(location, undefined);
  assert.deepEqual(returned, {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'self', frame-ancestors 'none'",
    "content-type": "text/html",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "strict-transport-security": "max-age=31536000",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  });
});

test("a redirect stays within the exposure", () => {
  const cases: [string, string | undefined][] = [
    ["/a?b#c", "/a?b#c"],
    ["a", "/a"],
    [`${origin}/x`, "/x"],
    ["//other.example/x", undefined],
    ["/\\other.example/x", undefined],
    ["http://exp-1.exposures.example/x", undefined],
    ["javascript:alert(1)", undefined],
    ["http://[", undefined],
  ];
  for (const [given, location] of cases) {
    assert.equal(returnedHeaders({ location: given }, origin)["location"], location, given);
  }
});

test("a response is cached by its reader only", () => {
  const cases: [string | undefined, string][] = [
    [undefined, "no-store"],
    ["public, max-age=60, immutable", "private, max-age=60, immutable"],
    ["s-maxage=60", "private"],
    ["no-cache", "private, no-cache"],
  ];
  for (const [given, expected] of cases) {
    const headers = given === undefined ? {} : { "cache-control": given };
    assert.equal(returnedHeaders(headers, origin)["cache-control"], expected);
  }
});

test("T29: requests that another site caused are refused, except for opening the first page", () => {
  const navigation = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  const cases: { headers: Record<string, string>; method?: string; url?: string; good: boolean }[] =
    [
      { headers: {}, good: true },
      { headers: { origin }, good: true },
      { headers: { origin: "https://other.example" }, good: false },
      { headers: { origin: "http://exp-1.exposures.example" }, good: false },
      { headers: { origin: "null" }, good: false },
      { headers: { "sec-fetch-site": "same-origin" }, good: true },
      { headers: { "sec-fetch-site": "none" }, good: true },
      { headers: { "sec-fetch-site": "same-site" }, good: false },
      { headers: { "sec-fetch-site": "cross-site" }, good: false },
      { headers: { "sec-fetch-site": "cross-site", ...navigation }, good: true },
      { headers: { "sec-fetch-site": "cross-site", ...navigation }, method: "POST", good: false },
      {
        headers: { "sec-fetch-site": "cross-site", ...navigation },
        url: "/?prompt=x",
        good: false,
      },
      {
        headers: { "sec-fetch-site": "cross-site", ...navigation, "sec-fetch-dest": "iframe" },
        good: false,
      },
      { headers: { "service-worker": "script" }, good: false },
    ];
  for (const { headers, method = "GET", url = "/", good } of cases) {
    const reason = crossSiteReason({ method, url, headers }, origin);
    assert.equal(reason === undefined, good, JSON.stringify({ headers, method, url }));
  }
});
