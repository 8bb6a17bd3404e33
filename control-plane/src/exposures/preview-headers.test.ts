// Which headers and paths pass between the public side of a preview and the server of a session (N18).
import assert from "node:assert/strict";
import { test } from "node:test";
import { previewRules } from "./preview-headers.ts";

const origin = "https://exp-1.exposures.example";
const named = previewRules({ hasOwnHost: true });
const atPort = previewRules({ hasOwnHost: false });

test("a path is forwarded as it is, in every form that a path has", () => {
  const cases: [string, boolean][] = [
    ["/", true],
    ["/?token=a&auth_token=b", true],
    ["/@vite/client", true],
    ["/@id/__x00__virtual:a", true],
    ["//a/b", true],
    ["/%zz?%", true],
    ["/a\\b", true],
    ["/a?b=[c]|d", true],
    ["/a#b", false],
    ["/a b", false],
    ["/ä", false],
    ["*", false],
    ["", false],
    ["http://other.example/", false],
  ];
  for (const [url, passes] of cases) assert.equal(named.path(url), passes ? url : undefined, url);
});

test("N18: neither the login nor the way of a request is forwarded; all other headers are", () => {
  const passed = {
    accept: "*/*",
    "accept-encoding": "br",
    "content-type": "text/plain",
    "if-none-match": 'W/"1"',
    origin,
    range: "bytes=0-1",
    "user-agent": "test",
    "x-csrf-token": "t",
    "x-requested-with": "XMLHttpRequest",
  };
  const dropped = {
    authorization: "Basic x",
    "proxy-authorization": "Basic x",
    cookie: "a=b",
    connection: "keep-alive, X-Of-Connection",
    "x-of-connection": "1",
    expect: "100-continue",
    forwarded: "for=1.2.3.4",
    host: "exp-1.exposures.example",
    "http2-settings": "x",
    "keep-alive": "timeout=5",
    te: "trailers",
    trailer: "x",
    "transfer-encoding": "chunked",
    upgrade: "h2c",
    via: "1.1 proxy",
    "x-forwarded-for": "1.2.3.4",
    "x-forwarded-host": "a",
    "x-hawser-exposure": "exp_1",
    "x-hawser-node-token": "t",
    "x-real-ip": "1.2.3.4",
    "sec-websocket-key": "k",
    "sec-websocket-extensions": "permessage-deflate",
    "sec-websocket-version": "13",
  };
  assert.deepEqual(atPort.request({ ...passed, ...dropped }), passed);
  assert.deepEqual(named.request({ ...passed, ...dropped }), { ...passed, cookie: "a=b" });
  const protocol = { "sec-websocket-protocol": "vite-hmr" };
  assert.deepEqual(atPort.handshake({ ...passed, ...dropped, ...protocol }), {
    ...passed,
    ...protocol,
  });
});

test("N18: no header is returned that lasts longer than the preview or replaces its login", () => {
  const passed = {
    "access-control-allow-origin": "*",
    "content-length": "3",
    "content-type": "text/html",
    etag: 'W/"1"',
    location: "https://other.example/",
    "x-powered-by": "a server",
  };
  const dropped = {
    ":status": "200",
    "alt-svc": "h3",
    "clear-site-data": '"*"',
    connection: "x-of-connection",
    "x-of-connection": "1",
    date: "Thu, 01 Jan 1970 00:00:00 GMT",
    "keep-alive": "timeout=5",
    nel: '{"report_to":"other","max_age":31536000}',
    "proxy-authenticate": "Basic",
    "public-key-pins": "x",
    "report-to":
      '{"group":"other","max_age":31536000,"endpoints":[{"url":"https://other.example/"}]}',
    "service-worker-allowed": "/",
    "set-cookie": ["a=b"],
    trailer: "x",
    "transfer-encoding": "chunked",
    upgrade: "h2c",
    "www-authenticate": "Basic",
  };
  const own = {
    "content-security-policy": "default-src 'self', frame-ancestors 'self'",
    "cache-control": "private, max-age=60",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
  };
  const answered = {
    ...passed,
    ...dropped,
    "content-security-policy": "default-src 'self'",
    "cache-control": "public, max-age=60",
    "strict-transport-security": "max-age=1; includeSubDomains",
    "x-frame-options": "ALLOWALL",
  };
  assert.deepEqual(atPort.response(answered, "http://127.0.0.1:1"), { ...passed, ...own });
  assert.deepEqual(named.response(answered, origin), {
    ...passed,
    ...own,
    "set-cookie": ["a=b"],
    "strict-transport-security": "max-age=31536000",
  });
});

test("a cookie is for the host name of its preview only, and for no loopback port", () => {
  const cases: [string, string][] = [
    ["a=b", "a=b"],
    ["a=b; Path=/; Secure", "a=b; Path=/; Secure"],
    ["a=b; Domain=exposures.example; Path=/", "a=b; Path=/"],
    ["a=b;DOMAIN = .exposures.example", "a=b"],
    ["a=b; domain; domain=x; HttpOnly", "a=b; HttpOnly"],
    ["domain=x; Path=/", "domain=x; Path=/"],
  ];
  for (const [given, expected] of cases) {
    const cookies = { "set-cookie": [given] };
    assert.deepEqual(named.response(cookies, origin)["set-cookie"], [expected]);
    assert.equal(atPort.response(cookies, origin)["set-cookie"], undefined);
  }
});
