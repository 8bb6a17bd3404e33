// What the public side lets in: passwords and guesses (T24, N19), malformed requests (T26), headers (N18) and other sites
// (T29). HAWSER_LONG=1 makes 100,000 guesses, and compares 2,000 times.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import {
  answered,
  basic,
  exposureDomain,
  exposureUsername,
  startExposureBed,
  type ExposureBed,
  type MadeExposure,
} from "@hawser/testkit/exposure-bed.ts";
import { startExposedServer, type ExposedServer } from "@hawser/testkit/exposed-server.ts";
import { until } from "@hawser/testkit/until.ts";
import { WebSocket } from "ws";

let server: ExposedServer;
let bed: ExposureBed;
let address = 1;
const isLong = process.env["HAWSER_LONG"] === "1";

before(async () => {
  server = await startExposedServer();
  bed = await startExposureBed(server.handle, { proxies: ["127.0.0.0/8"] });
});

beforeEach(() => void (address += 1));

after(async () => {
  await bed[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Each test comes from an address of its own, so that none is throttled for another. */
const from = (last = address) => ({ "x-forwarded-for": `198.51.${last >> 8}.${last & 255}` });

/** The whole answer to these bytes. */
async function raw(bytes: string): Promise<string> {
  const socket = connect(bed.nodes[0]!.publicPort, "127.0.0.1");
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const timer = setTimeout(() => socket.destroy(), 2_000);
  socket.write(bytes, "latin1");
  await closed;
  clearTimeout(timer);
  return text;
}

function headOf(exposure: MadeExposure, authorization: string | undefined, host = exposure.host) {
  return [
    `Host: ${host}`,
    ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
    `X-Forwarded-For: ${from()["x-forwarded-for"]}`,
  ].join("\r\n");
}

test("N19: unknown, expired, revoked and wrong answer with the same bytes, and no password too", async () => {
  const expired = bed.make(-1);
  const revoked = bed.make();
  bed.exposures.delete(revoked.exposureId);
  const good = bed.make();
  const unknown = { ...good, host: `exp-${"0".repeat(25)}1.${exposureDomain}` };
  const noId = { ...good, host: `exp-x.${exposureDomain}` };
  const wrong = basic(exposureUsername, randomBytes(16).toString("base64url"));
  const cases: [string, MadeExposure, string | undefined][] = [
    ["expired", expired, expired.authorization],
    ["revoked", revoked, revoked.authorization],
    ["unknown", unknown, good.authorization],
    ["no id", noId, good.authorization],
    ["foreign host", { ...good, host: "other.example" }, good.authorization],
    ["another's password", good, bed.make().authorization],
    ["wrong name", good, basic("admin", good.password)],
    ["wrong password", good, wrong],
    ["no password", good, undefined],
    ["no such login", good, "Bearer x"],
    ["unreadable", good, "Basic !"],
    ["empty", good, basic("", "")],
  ];
  const answers = new Map<string, string>();
  for (const [what, exposure, login] of cases) {
    const head = headOf(exposure, login);
    answers.set(what, await raw(`GET /a HTTP/1.1\r\n${head}\r\nConnection: close\r\n\r\n`));
  }
  const [first] = answers.values();
  assert.match(first!, /^HTTP\/1\.1 401 .*\r\nwww-authenticate: Basic realm="Hawser"/s);
  for (const [what, text] of answers) assert.equal(text, first, what);
  const query = `/?auth_token=${good.authorization.slice(6)}`;
  const byQuery = await raw(
    `GET ${query} HTTP/1.1\r\n${headOf(good, undefined)}\r\nConnection: close\r\n\r\n`,
  );
  assert.equal(byQuery, first, "a password in the address");
});

test("N19: unknown and wrong take the same time", async () => {
  const good = bed.make();
  const wrong = { ...good, authorization: basic(exposureUsername, "x") };
  const unknown = { ...wrong, host: `exp-${"0".repeat(25)}2.${exposureDomain}` };
  const samples = { wrong: [] as number[], unknown: [] as number[] };
  for (let i = 0; i < (isLong ? 2_000 : 60); i++) {
    for (const [what, exposure] of [
      ["wrong", wrong],
      ["unknown", unknown],
    ] as const) {
      address += 1;
      const startedAt = performance.now();
      const request = bed.request(exposure, { headers: from() });
      assert.equal((await answered(request)).status, 401);
      samples[what].push(performance.now() - startedAt);
    }
  }
  const t = Math.abs(welch(samples.wrong, samples.unknown));
  assert.ok(t < 4.5, `t = ${t}`);
});

/** How much two means differ, measured in standard errors. */
function welch(one: number[], other: number[]): number {
  const mean = (all: number[]) => all.reduce((sum, x) => sum + x, 0) / all.length;
  const error = (all: number[]) =>
    all.reduce((sum, x) => sum + (x - mean(all)) ** 2, 0) / (all.length - 1) / all.length;
  return (mean(one) - mean(other)) / Math.sqrt(error(one) + error(other));
}

test("T24: guesses from 50 addresses get in nowhere, and leave the user alone", async () => {
  const exposure = bed.make();
  const guesses = isLong ? 100_000 : 1_000;
  const statuses = new Map<number, number>();
  let made = 0;
  const isOver = () => made >= guesses;
  let slowest = 0;
  const guess = async () => {
    while (!isOver()) {
      made += 1;
      const guessed = basic(exposureUsername, randomBytes(16).toString("base64url"));
      const headers = { authorization: guessed, "x-forwarded-for": `203.0.113.${made % 50}` };
      const { status } = await answered(bed.request(exposure, { headers }));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const user = async () => {
    do {
      const startedAt = performance.now();
      const { status } = await answered(bed.request(exposure, { headers: from() }));
      slowest = Math.max(slowest, performance.now() - startedAt);
      assert.equal(status, 200);
      await new Promise((resolve) => setTimeout(resolve, 50));
    } while (!isOver());
  };
  await Promise.all([user(), ...Array.from({ length: isLong ? 1_000 : 64 }, guess)]);
  const { 401: wrong = 0, 429: locked = 0 } = Object.fromEntries(statuses) as Record<
    number,
    number
  >;
  assert.equal(wrong + locked, guesses, JSON.stringify([...statuses]));
  assert.ok(slowest < (isLong ? 10_000 : 2_000), `${slowest} ms`);
  if (isLong) assert.ok(locked > 80_000, `${locked} were locked out`);
});

test("T24: an address is locked after 100 failures, also with the right password", async () => {
  const exposure = bed.make();
  const statuses = await Promise.all(
    Array.from({ length: 120 }, async (_, i) => {
      const headers = { ...from(), authorization: basic(exposureUsername, `${i}`) };
      return (await answered(bed.request(exposure, { headers }))).status;
    }),
  );
  assert.equal(statuses.filter((status) => status === 401).length, 100);
  assert.equal(statuses.filter((status) => status === 429).length, 20);
  const { status, headers } = await answered(bed.request(exposure, { headers: from() }));
  assert.equal(status, 429);
  assert.ok(Number(headers["retry-after"]) > 50);
  assert.equal((await answered(bed.request(exposure, { headers: from(9_000) }))).status, 200);
});

test("T26: what is no strict HTTP/1.1 is answered 400, and no request reaches the host", async () => {
  const exposure = bed.make();
  await answered(bed.request(exposure, { headers: from() }));
  const head = headOf(exposure, exposure.authorization);
  const smuggled = `GET /smuggled HTTP/1.1\r\n${head}\r\n\r\n`;
  const post = `POST /first HTTP/1.1\r\n${head}\r\n`;
  const cases: Record<string, string> = {
    "CL and TE": `${post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    "TE and CL": `${post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${smuggled}`,
    "two lengths": `${post}Content-Length: 0\r\nContent-Length: 4\r\n\r\n${smuggled}`,
    "a length list": `${post}Content-Length: 0, 4\r\n\r\n${smuggled}`,
    "a signed length": `${post}Content-Length: +0\r\n\r\n${smuggled}`,
    "an odd coding": `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
    "chunked not last": `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
    "a space before the colon": `${post}Content-Length : 0\r\n\r\n${smuggled}`,
    "a folded header": `${post}X-A: b\r\n c\r\nTransfer-Encoding:\r\n chunked\r\n\r\n${smuggled}`,
    "bare LF": `POST /first HTTP/1.1\n${head.replaceAll("\r\n", "\n")}\n\n${smuggled}`,
    "bare LF in headers": `${post}X-A: b\nTransfer-Encoding: chunked\r\n\r\n${smuggled}`,
    "bare CR": `${post}X-A: b\rTransfer-Encoding: chunked\r\n\r\n${smuggled}`,
    "a zero byte": `${post}X-A: b\0c\r\n\r\n${smuggled}`,
    "oversized headers": `GET /first HTTP/1.1\r\n${head}\r\nX-A: ${"a".repeat(20_000)}\r\n\r\n`,
    "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "two hosts": `GET /first HTTP/1.1\r\nHost: other.example\r\n${head}\r\n\r\n`,
    "no host": "GET /first HTTP/1.1\r\n\r\n",
    "an absolute target": `GET http://other.example/first HTTP/1.1\r\n${head}\r\n\r\n`,
    "an odd method": `TRACE /first HTTP/1.1\r\n${head}\r\n\r\n`,
    "no HTTP": "hello\r\n\r\n",
  };
  for (const [what, bytes] of Object.entries(cases)) {
    const before = server.requests.length;
    const answer = await raw(bytes);
    assert.match(answer, /^HTTP\/1\.1 400 /, `${what}: ${answer}`);
    const seen = server.requests.slice(before).map((headers) => headers[":path"]);
    assert.deepEqual(seen, [], what);
  }
});

test("T26: an offer to speak HTTP/2 is ignored", async () => {
  const exposure = bed.make();
  const headers = { ...from(), connection: "Upgrade, HTTP2-Settings", upgrade: "h2c" };
  const answer = await answered(
    bed.request(exposure, { headers: { ...headers, "http2-settings": "" } }),
  );
  assert.equal(answer.status, 200);
  assert.equal(server.requests.at(-1)!["upgrade"], undefined);
});

test("N18: the host receives exactly the listed headers, and the client none that must not leave", async () => {
  const exposure = bed.make();
  const secret = {
    cookie: "a=b",
    "x-api-key": "k",
    forwarded: "for=1.2.3.4",
    "x-real-ip": "1.2.3.4",
  };
  const passed = {
    accept: "text/html",
    "accept-language": "en",
    "user-agent": "test",
    "x-opencode-directory": "/a",
  };
  const answer = await answered(
    bed.request(exposure, {
      path: "/cookie?auth_token=x",
      headers: { ...from(), ...secret, ...passed, te: "trailers", "x-forwarded-proto": "http" },
    }),
  );
  const { ":path": path, ...upstream } = server.requests.at(-1)!;
  assert.equal(path, "/cookie");
  assert.deepEqual(
    // Without the symbol that Node adds.
    Object.fromEntries(Object.entries(upstream)),
    { ":method": "GET", ":scheme": "https", ":authority": exposure.host, ...passed },
  );
  assert.equal(answer.status, 302);
  const names = ["set-cookie", "location", "www-authenticate", "access-control-allow-origin"];
  for (const name of names) assert.equal(answer.headers[name], undefined, name);
  assert.equal(answer.headers["x-frame-options"], "DENY");
});

test("T29: requests of other sites are refused before the password is looked at", async () => {
  const exposure = bed.make();
  const before = server.requests.length;
  const foreign = [{ origin: "https://other.example" }, { "sec-fetch-site": "cross-site" }];
  for (const headers of foreign) {
    const request = bed.request(exposure, { method: "POST", headers: { ...from(), ...headers } });
    assert.equal((await answered(request)).status, 403);
  }
  const socket = new WebSocket(`ws://127.0.0.1:${bed.nodes[0]!.publicPort}/`, {
    headers: {
      host: exposure.host,
      authorization: exposure.authorization,
      origin: "https://other.example",
    },
  });
  socket.on("error", () => {});
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  assert.equal(response.statusCode, 403);
  socket.terminate();
  assert.equal(server.requests.length, before);
});

test("a WebSocket without the password is refused", async () => {
  const socket = new WebSocket(`ws://127.0.0.1:${bed.nodes[0]!.publicPort}/`, {
    headers: { host: bed.make().host },
  });
  socket.on("error", () => {});
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  assert.equal(response.statusCode, 401);
  socket.terminate();
});

test("a body that is cut off does not look whole to the host", async () => {
  const exposure = bed.make();
  for (const isCut of [true, false]) {
    const path = `/upload/${isCut ? "cut" : "whole"}`;
    const request = bed.request(exposure, { path, method: "POST", headers: from() });
    request.on("error", () => {});
    request.write("half");
    await until("the host has the request", () => server.requests.at(-1)![":path"] === path);
    if (isCut) request.destroy();
    else await answered(request, "whole");
    await until("the stream is over", () => bed.nodes[0]!.traffic.counts().streams === 0);
  }
  assert.deepEqual(server.whole, ["/upload/whole"]);
});

test("while exposures cannot be looked up, requests are told to come again, and none counts as a guess", async () => {
  const exposure = bed.make();
  bed.fault.database = new Error("The database is down.");
  try {
    for (let i = 0; i < 120; i++) {
      const { status, headers } = await answered(bed.request(exposure, { headers: from() }));
      assert.deepEqual([status, headers["retry-after"]], [503, "2"]);
    }
  } finally {
    delete bed.fault.database;
  }
  assert.equal((await answered(bed.request(exposure, { headers: from() }))).status, 200);
});
