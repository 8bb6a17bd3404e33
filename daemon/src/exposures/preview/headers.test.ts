// What the server of a session and the clients of its preview see of each other's headers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { headersForClient, headersForServer } from "./headers.ts";

test("N18: the server gets the client's headers, but no login, no address and no other origin", () => {
  const sent = headersForServer(
    {
      ":method": "POST",
      ":path": "/",
      ":authority": "exp-1.exposures.example",
      accept: "text/html",
      "accept-encoding": "br",
      authorization: "Basic ours",
      connection: "x-one",
      "content-length": "7",
      "content-type": "text/plain",
      cookie: "a=b",
      expect: "100-continue",
      forwarded: "for=1.2.3.4",
      host: "exp-1.exposures.example",
      "if-none-match": '"1"',
      "keep-alive": "5",
      origin: "https://exp-1.exposures.example",
      "proxy-authorization": "Basic ours",
      range: "bytes=0-1",
      "sec-websocket-key": "theirs",
      te: "trailers",
      "transfer-encoding": "chunked",
      upgrade: "h2c",
      "x-forwarded-for": "1.2.3.4",
      "x-forwarded-host": "exp-1.exposures.example",
      "x-real-ip": "1.2.3.4",
      "x-requested-with": "fetch",
    },
    5173,
    true,
  );
  assert.deepEqual(sent, {
    accept: "text/html",
    "accept-encoding": "br",
    "content-length": "7",
    "content-type": "text/plain",
    cookie: "a=b",
    host: "localhost:5173",
    "if-none-match": '"1"',
    origin: "http://localhost:5173",
    range: "bytes=0-1",
    "x-requested-with": "fetch",
  });
});

test("T26: the body of a request is always framed, and a request without one has no length", () => {
  const framing = (headers: Record<string, string>, hasBody: boolean) => {
    const { host: _host, ...sent } = headersForServer(headers, 80, hasBody);
    return sent;
  };
  assert.deepEqual(framing({}, true), { "transfer-encoding": "chunked" });
  assert.deepEqual(framing({ "content-length": "3" }, true), { "content-length": "3" });
  assert.deepEqual(framing({ "content-length": "3" }, false), {});
  assert.deepEqual(framing({}, false), {});
});

test("the client gets the server's headers, but none that have an effect beyond the preview", () => {
  const sent = headersForClient(
    {
      "access-control-allow-origin": "*",
      "alt-svc": 'h3=":443"',
      "clear-site-data": '"*"',
      connection: "close, X-Hop",
      "content-encoding": "br",
      "content-length": "5",
      etag: '"1"',
      "keep-alive": "timeout=5",
      "proxy-authenticate": "Basic",
      "public-key-pins": "x",
      "set-cookie": [
        "a=b; Domain=localhost; Path=/",
        "c=d;domain=.example.com",
        "e=domain; HttpOnly",
      ],
      "strict-transport-security": "max-age=1",
      "transfer-encoding": "chunked",
      upgrade: "h2c",
      "www-authenticate": "Basic",
      "x-hop": "1",
      "x-powered-by": "vite",
    },
    5173,
  );
  assert.deepEqual(sent, {
    "access-control-allow-origin": "*",
    "content-encoding": "br",
    "content-length": "5",
    etag: '"1"',
    "set-cookie": ["a=b; Path=/", "c=d", "e=domain; HttpOnly"],
    "x-powered-by": "vite",
  });
});

const redirects: [string, string][] = [
  ["/next", "/next"],
  ["next?a=b", "next?a=b"],
  ["http://localhost:5173/next?a=b#c", "/next?a=b#c"],
  ["http://127.0.0.1:5173", "/"],
  ["http://[::1]:5173/x", "/x"],
  ["https://LOCALHOST:5173/x", "/x"],
  ["http://localhost:5173//evil.example/", "/.//evil.example/"],
  ["http://localhost:4096/", "http://localhost:4096/"],
  ["http://localhost/", "http://localhost/"],
  [
    "https://login.example/?to=http://localhost:5173/",
    "https://login.example/?to=http://localhost:5173/",
  ],
  ["http://localhost.example:5173/", "http://localhost.example:5173/"],
  ["ftp://localhost:5173/", "ftp://localhost:5173/"],
];

test("a redirect to the server's own address stays in the preview", () => {
  for (const [location, expected] of redirects) {
    assert.equal(headersForClient({ location }, 5173)["location"], expected, location);
  }
  assert.equal(headersForClient({ location: "http://localhost/a" }, 80)["location"], "/a");
});
