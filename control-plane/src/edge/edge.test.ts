// Which connections the edge accepts and rejects (T26). NATS is real. Tests of what reaches NATS use a
// listener that records everything instead.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fabricPath, makeNkey, makeProof, proofHeader } from "@hawser/host-protocol";
import { freePort } from "@hawser/testkit/free-port.ts";
import { startNats, type Nats } from "@hawser/testkit/nats.ts";
import type { AdmittedLink } from "../fabric/edge-identity.ts";
import { makeFabricKeys } from "../fabric/fabric-keys.ts";
import { createHostTokens } from "../fabric/host-token.ts";
import { createLog } from "../log.ts";
import { startEdgeRole, type EdgeRole } from "./edge-role.ts";

const instanceId = "ins_00000000000000000000000001";
const { keys } = makeFabricKeys();
const tokens = createHostTokens(keys, 3600);
const key = makeNkey("user");
const { token } = tokens.mint(instanceId, key.publicKey);
const log = createLog("silent");

let nats: Nats;
let edge: EdgeRole;
let admitted: string[];
let links: AdmittedLink[];
let now: () => number;
/** Replaces NATS, and counts the connections that reach it. */
let reached = 0;
const recorder = createServer((socket) => {
  reached++;
  socket.destroy();
});
let recording: EdgeRole;

const start = (websockets: string[], linksPerSecond = 1_000) =>
  startEdgeRole({
    listen: { host: "127.0.0.1", port: 0 },
    drainMs: 0,
    tokens,
    websockets,
    edgeId: "e1",
    linksPerSecond,
    log,
    admitted(link, id) {
      admitted.push(`${link.publicKey} ${id}`);
      links.push(link);
    },
    leaving: () => Promise.resolve(),
    now: () => now(),
  });

before(async () => {
  nats = await startNats({ keys });
  edge = await start(nats.websockets);
  recorder.listen(0, "127.0.0.1");
  await once(recorder, "listening");
  recording = await start([`127.0.0.1:${(recorder.address() as AddressInfo).port}`]);
});

beforeEach(() => {
  admitted = [];
  links = [];
  reached = 0;
  now = Date.now;
});

after(async () => {
  await Promise.all([edge.stop(), recording.stop()]);
  recorder.close();
  await nats[Symbol.asyncDispose]();
});

const hostOf = ({ address }: EdgeRole) => `127.0.0.1:${address.port}`;

function headersFor(at: EdgeRole, host = { key, token }): Record<string, string> {
  return {
    Host: hostOf(at),
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Key": Buffer.alloc(16, 7).toString("base64"),
    "Sec-WebSocket-Version": "13",
    Authorization: `Bearer ${host.token}`,
    [proofHeader]: makeProof(host.key, hostOf(at), Date.now()),
  };
}

function newHost() {
  const key = makeNkey("user");
  return { key, token: tokens.mint(instanceId, key.publicKey).token };
}

interface Reply {
  status: number;
  headers: IncomingMessage["headers"];
  body: string;
}

/** Requests an upgrade, and closes the connection when it is granted. */
function upgrade(
  at: EdgeRole,
  headers: Record<string, string | string[]>,
  { path = fabricPath, method = "GET" } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { port } = at.address;
    const asked = httpRequest({ host: "127.0.0.1", port, path, method, headers, agent: false });
    asked.on("error", reject);
    asked.on("upgrade", ({ statusCode = 0, headers }, socket) => {
      socket.destroy();
      resolve({ status: statusCode, headers, body: "" });
    });
    asked.on("response", (response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => (body += chunk.toString()));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    });
    asked.end();
  });
}

/** A hand-written host: a WebSocket whose messages are NATS's own lines. */
async function dial(at: EdgeRole) {
  const { Authorization = "", [proofHeader]: proof = "" } = headersFor(at);
  const socket = new WebSocket(`ws://${hostOf(at)}${fabricPath}`, {
    headers: { Authorization, [proofHeader]: proof },
  });
  socket.binaryType = "arraybuffer";
  let said = "";
  socket.addEventListener("message", ({ data }) => {
    said += Buffer.from(data as ArrayBuffer).toString();
  });
  return {
    socket,
    send: (text: string) => socket.send(Buffer.from(text)),
    until: (words: RegExp) => until(() => words.exec(said)),
  };
}

async function until<T>(look: () => T | undefined | null | false): Promise<T> {
  const deadline = Date.now() + 5_000;
  for (;;) {
    const seen = look();
    if (seen) return seen;
    assert.ok(Date.now() < deadline, "it did not happen within 5 s");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function connectLine(nonce: string, signer = key): string {
  const options = {
    jwt: token,
    nkey: key.publicKey,
    sig: signer.sign(nonce).toString("base64url"),
    verbose: false,
    pedantic: false,
    headers: true,
    no_responders: true,
    protocol: 1,
    lang: "test",
    version: "1",
  };
  return `CONNECT ${JSON.stringify(options)}\r\nPING\r\n`;
}

test("a host with its token and its proof speaks with NATS, and the edge says that it came", async () => {
  const host = await dial(edge);
  const [, nonce] = await host.until(/"nonce":"([^"]+)"/);
  host.send(connectLine(nonce!));
  await host.until(/PONG/);
  host.send(`SUB _INBOX.${instanceId}.* 1\r\n`);
  host.send(`PUB host.${instanceId}.up.hello _INBOX.${instanceId}.a 2\r\n{}\r\n`);
  // No node answers, and NATS itself reports that: the whole path works.
  await host.until(new RegExp(`HMSG _INBOX.${instanceId}.a 1 .*\\r\\nNATS/1.0 503`));
  assert.deepEqual(admitted, [`${key.publicKey} ${instanceId}`]);
  const [, serverId] = await host.until(/"server_id":"(\w+)"/);
  const [, clientId] = await host.until(/"client_id":(\d+)/);
  assert.deepEqual(links, [{ publicKey: key.publicKey, serverId, clientId: Number(clientId) }]);
  assert.equal(edge.connections(), 1);
  assert.equal(host.socket.extensions, "", "compression is never agreed on");
  host.socket.close();
  await until(() => edge.connections() === 0);
});

test("whoever repeats a host's request within the minute gets as far as NATS, and no further", async () => {
  const host = await dial(edge);
  const [, nonce] = await host.until(/"nonce":"([^"]+)"/);
  host.send(connectLine(nonce!, makeNkey("user")));
  await host.until(/-ERR 'Authorization Violation'/);
  await until(() => edge.connections() === 0);
});

const foreign = makeNkey("user");
const foreignTokens = createHostTokens(makeFabricKeys().keys, 3600);
const proven = (by: typeof key, host = hostOf(recording), at = Date.now()) => ({
  [proofHeader]: makeProof(by, host, at),
});
const bearer = (text: string) => ({ Authorization: `Bearer ${text}` });
const signedForOther = (text: string) =>
  key.sign(`hawser link 1\n${text}\n${Date.now()}`).toString("base64url");

/** Each differs in one thing from an accepted request. */
const rejected: [what: string, status: number, changes: () => Record<string, string | string[]>][] =
  [
    ["no token", 401, () => ({ Authorization: [] })],
    ["another scheme", 401, () => ({ Authorization: `Basic ${token}` })],
    ["two tokens", 401, () => ({ Authorization: [`Bearer ${token}`, `Bearer ${token}`] })],
    ["a token with another end", 401, () => bearer(tampered(token, token.length - 20))],
    ["a token with another middle", 401, () => bearer(tampered(token, 120))],
    ["a token without a signature", 401, () => bearer(token.slice(0, token.lastIndexOf(".") + 1))],
    [
      "another service's token",
      401,
      () => bearer(foreignTokens.mint(instanceId, key.publicKey).token),
    ],
    [
      "a token that ran out",
      401,
      () => bearer(tokens.mint(instanceId, key.publicKey, Date.now() - 3_601_000).token),
    ],
    ["no proof", 403, () => ({ [proofHeader]: [] })],
    ["a proof by another key", 403, () => proven(foreign)],
    [
      "another host's token with its own proof",
      403,
      () => bearer(tokens.mint(instanceId, foreign.publicKey).token),
    ],
    ["a proof for another address", 403, () => proven(key, "hawser.example")],
    ["a proof 61 s old", 403, () => proven(key, hostOf(recording), Date.now() - 61_000)],
    ["a proof 61 s ahead", 403, () => proven(key, hostOf(recording), Date.now() + 61_000)],
    [
      "a proof for another path",
      403,
      () => ({
        [proofHeader]: `${Date.now()}.${signedForOther(`${hostOf(recording)}\n/api/other`)}`,
      }),
    ],
    ["a proof without a time", 403, () => ({ [proofHeader]: `.${signedForOther("x")}` })],
    ["another address than the proof's", 403, () => ({ Host: "hawser.example" })],
    ["no WebSocket key", 426, () => ({ "Sec-WebSocket-Key": [] })],
    ["a short WebSocket key", 426, () => ({ "Sec-WebSocket-Key": "AAAA" })],
    ["no WebSocket version", 426, () => ({ "Sec-WebSocket-Version": [] })],
    ["an old WebSocket version", 426, () => ({ "Sec-WebSocket-Version": "8" })],
    ["a protocol that is none", 426, () => ({ "Sec-WebSocket-Protocol": "a b" })],
    ["no upgrade", 426, () => ({ Connection: "close", Upgrade: [] })],
    ["an upgrade to something else", 426, () => ({ Upgrade: "h2c" })],
    ["a body", 400, () => ({ "Content-Length": "5" })],
  ];

/** The letter is far from the end, where two base64 letters can encode the same bytes. */
function tampered(text: string, at: number): string {
  return text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
}

for (const [what, status, changes] of rejected) {
  test(`${what}: ${status}, and NATS hears nothing of it`, async () => {
    const reply = await upgrade(recording, { ...headersFor(recording), ...changes() });
    assert.equal(reply.status, status, reply.body);
    assert.ok(Math.abs(Date.parse(reply.headers.date ?? "") - Date.now()) < 5_000);
    const { error } = JSON.parse(reply.body) as { error: { code: string; message: string } };
    assert.match(error.code, /^[a-z_]+$/);
    assert.equal(reached, 0);
    assert.deepEqual(admitted, []);
  });
}

test("only GET of the one path is a link", async () => {
  const headers = headersFor(recording);
  assert.equal((await upgrade(recording, headers, { path: "/api/other" })).status, 404);
  assert.equal((await upgrade(recording, headers, { path: `${fabricPath}/` })).status, 404);
  assert.equal((await upgrade(recording, headers, { path: `${fabricPath}?a=b` })).status, 404);
  assert.equal((await upgrade(recording, headers, { method: "POST" })).status, 426);
  assert.equal(reached, 0);
});

test("a token and a proof are judged by the edge's clock", async () => {
  now = () => Date.now() + 62_000;
  assert.equal((await upgrade(edge, headersFor(edge))).status, 403);
  now = () => Date.now() + 59_000;
  assert.equal((await upgrade(edge, headersFor(edge))).status, 101);
  now = () => Date.now() + 3_601_000;
  assert.equal((await upgrade(edge, headersFor(edge))).status, 401);
});

/** Everything a server answers to these bytes until it closes the connection. */
async function raw(at: EdgeRole, bytes: string): Promise<string> {
  const socket: Socket = connect(at.address.port, "127.0.0.1");
  let said = "";
  socket.on("data", (chunk: Buffer) => (said += chunk.toString()));
  socket.on("error", () => {});
  socket.write(bytes);
  await until(() => socket.closed);
  return said;
}

const lines = (headers: Record<string, string>, lineEnd = "\r\n") =>
  [
    `GET ${fabricPath} HTTP/1.1`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "",
    "",
  ].join(lineEnd);

test("a request that two parsers could read differently is refused whole", async () => {
  const good = headersFor(recording);
  const inner = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const attempts = {
    "a length and chunks": lines({
      ...good,
      "Content-Length": "4",
      "Transfer-Encoding": "chunked",
    }).concat("0\r\n\r\n", inner),
    chunks: lines({ ...good, "Transfer-Encoding": "chunked" }).concat("0\r\n\r\n", inner),
    "a length": lines({ ...good, "Content-Length": String(inner.length) }).concat(inner),
    "bare line feeds": lines(good, "\n"),
    "one bare line feed": lines(good).replace("Upgrade: websocket\r\n", "Upgrade: websocket\n"),
    "a folded header": lines(good).replace("Authorization: ", "Authorization:\r\n "),
    "a space before the colon": lines(good).replace("Authorization:", "Authorization :"),
    "two addresses": lines(good).replace("Host: ", "Host: other.example\r\nHost: "),
    "bytes before the answer": lines(good).concat("\x82\x05hello"),
  };
  for (const [what, bytes] of Object.entries(attempts)) {
    const said = await raw(recording, bytes);
    assert.match(said, /^HTTP\/1\.1 4\d\d /, what);
    assert.equal(said.match(/^HTTP\/1\.1 /gm)?.length, 1, `${what} is answered once`);
    assert.equal(reached, 0, what);
  }
});

test("headers beyond what HTTP takes are refused", async () => {
  const said = await raw(recording, lines({ ...headersFor(recording), A: "a".repeat(100_000) }));
  // Bytes that are in flight when the server closes may reset the connection and lose the answer.
  assert.match(said, /^(HTTP\/1\.1 431 |$)/);
  assert.equal(reached, 0);
});

test("A6: the fifth link of a host is refused with the time to wait, and its place is free again", async () => {
  const hosts = [];
  for (let number = 1; number <= 4; number++) {
    const host = await dial(edge);
    await host.until(/"nonce"/);
    hosts.push(host);
  }
  const reply = await upgrade(edge, headersFor(edge));
  assert.equal(reply.status, 429);
  const { error } = JSON.parse(reply.body) as { error: { code: string; retryAfterMs: number } };
  assert.equal(error.code, "rate_limited");
  assert.ok(error.retryAfterMs > 0 && error.retryAfterMs <= 10_000);
  assert.ok(Number(reply.headers["retry-after"]) > 0);
  hosts[0]!.socket.close();
  await until(() => edge.connections() === 3);
  assert.equal((await upgrade(edge, headersFor(edge))).status, 101);
  for (const { socket } of hosts) socket.close();
  await until(() => edge.connections() === 0);
});

test("an edge without room refuses before it verifies, and says when there is room", async (t) => {
  const small = await start(nats.websockets, 1);
  t.after(() => small.stop());
  const replies = [];
  for (let i = 0; i < 3; i++) replies.push(await upgrade(small, headersFor(small)));
  assert.deepEqual(
    replies.map(({ status, headers }) => [status, headers["retry-after"]]),
    [
      [101, undefined],
      [503, "1"],
      [503, "2"],
    ],
  );
  assert.match(replies[2]!.body, /"unavailable".*Connect again in 2 s/);
  const nobody = await upgrade(small, { ...headersFor(small), Authorization: "Bearer none" });
  assert.equal(nobody.status, 503, "the token was not read");
  assert.deepEqual(small.load(), { links: 1, perSecond: 1 });
});

test("requests without a valid token leave the room to hosts", async (t) => {
  const small = await start(nats.websockets, 1);
  t.after(() => small.stop());
  const headers = { ...headersFor(small), Authorization: "Bearer none" };
  for (let i = 0; i < 10; i++) assert.equal((await upgrade(small, headers)).status, 401);
  assert.equal((await upgrade(small, headersFor(small))).status, 101);
});

test("hosts that open links all the time do not keep out a host that dials once", async (t) => {
  const small = await start(nats.websockets, 20);
  t.after(() => small.stop());
  let opened = 0;
  const over = new AbortController();
  const flood = Array.from({ length: 10 }, newHost).map(async (host) => {
    for (; !over.signal.aborted; await pause(10))
      if ((await upgrade(small, headersFor(small, host))).status === 101) opened++;
  });
  await until(() => opened > 25);
  const statuses: number[] = [];
  for (let number = 1; number <= 8; number++) {
    await pause(100);
    statuses.push((await upgrade(small, headersFor(small, newHost()))).status);
  }
  over.abort();
  await Promise.all(flood);
  assert.deepEqual(statuses, Array(8).fill(101));
});

test("a server that is down is passed over; when none is left the host is told to try again", async () => {
  const dead = `127.0.0.1:${await freePort()}`;
  const some = await start([dead, ...nats.websockets]);
  for (let i = 0; i < 4; i++) assert.equal((await upgrade(some, headersFor(some))).status, 101);
  await some.stop();
  const none = await start([dead]);
  const reply = await upgrade(none, headersFor(none));
  assert.deepEqual([reply.status, reply.headers["retry-after"]], [503, "1"]);
  assert.deepEqual(admitted.length, 4);
  await none.stop();
});

test("an upgrade to anything but a WebSocket is ignored, and the request answered", async () => {
  const { port } = edge.address;
  const reply = await upgrade(
    edge,
    { Host: `127.0.0.1:${port}`, Connection: "Upgrade", Upgrade: "h2c" },
    { path: "/healthz" },
  );
  assert.equal(reply.status, 200);
});
