// Which host may open a tunnel, how many, and what it may send.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { performServerHandshake } from "node:http2";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { tunnelPath } from "@hawser/host-protocol";
import { until } from "@hawser/testkit/until.ts";
import { WebSocket, createWebSocketStream } from "ws";
import { createLog } from "../log.ts";
import { createTunnelTokens } from "./tokens.ts";
import { createTunnelDoor, isTunnelRequest, limitMessages } from "./tunnel-door.ts";

async function openDoor(t: TestContext) {
  const clock = { now: Date.now() };
  const tokens = createTunnelTokens(randomBytes(32), () => clock.now);
  const added: string[] = [];
  const door = createTunnelDoor({
    tokens,
    tunnels: { add: (id) => added.push(id), remove: () => {} },
    now: () => clock.now,
    log: createLog("silent"),
  });
  const server = createServer();
  door.attach(server);
  server.on("upgrade", (incoming: IncomingMessage, socket) => {
    if (!isTunnelRequest(incoming)) socket.end("HTTP/1.1 418 Left\r\n\r\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const dial = async (path: string, authorization?: string) => {
    const { port } = server.address() as AddressInfo;
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
    socket.on("error", () => {});
    t.after(() => socket.terminate());
    const status = await Promise.race([
      once(socket, "open").then(() => 101),
      (once(socket, "unexpected-response") as Promise<[unknown, IncomingMessage]>).then(
        ([, response]) => response.statusCode ?? 0,
      ),
    ]);
    return { status, socket };
  };
  const makeTicket = () => tokens.makeTicket({ exposureId: "exp_1", instanceId: "ins_1" });
  const dialWithTicket = () => dial(tunnelPath, `Bearer ${makeTicket()}`);
  return { door, clock, added, makeTicket, dial, dialWithTicket };
}

function serve(socket: WebSocket): void {
  const bytes = createWebSocketStream(socket);
  bytes.on("error", () => {});
  performServerHandshake(bytes).on("error", () => {});
}

test("only a fresh ticket of a node opens a tunnel, once, and other upgrades are left alone", async (t) => {
  const { door, clock, added, makeTicket, dial } = await openDoor(t);
  const status = async (path: string, authorization?: string) =>
    (await dial(path, authorization)).status;
  const ticket = makeTicket();
  assert.equal(await status("/other"), 418);
  assert.equal(await status(tunnelPath), 401);
  assert.equal(await status(tunnelPath, `Basic ${ticket}`), 401);
  assert.equal(await status(tunnelPath, `Bearer ${ticket}x`), 401);
  const opened = await dial(tunnelPath, `Bearer ${ticket}`);
  assert.equal(opened.status, 101);
  serve(opened.socket);
  await until("the tunnel is added", () => added.includes("exp_1"), 2_000);
  assert.equal(await status(tunnelPath, `Bearer ${ticket}`), 401, "used before");
  const old = makeTicket();
  clock.now += 61_000;
  assert.equal(await status(tunnelPath, `Bearer ${old}`), 401, "too old");
  door.close();
  assert.equal(await status(tunnelPath, `Bearer ${makeTicket()}`), 503);
});

test("an exposure has three WebSockets at most, also if they are silent, and gets room again", async (t) => {
  const { dialWithTicket } = await openDoor(t);
  const dialled = [await dialWithTicket(), await dialWithTicket(), await dialWithTicket()];
  assert.deepEqual(
    dialled.map(({ status }) => status),
    [101, 101, 101],
  );
  assert.equal((await dialWithTicket()).status, 503);
  dialled[0]!.socket.terminate();
  await until("there is room", async () => (await dialWithTicket()).status === 101, 2_000);
});

test("a host that sends pings is cut, and gets no answer to them", async (t) => {
  const { dialWithTicket } = await openDoor(t);
  const pinging = (await dialWithTicket()).socket;
  let pongs = 0;
  pinging.on("pong", () => (pongs += 1));
  pinging.ping("x");
  await once(pinging, "close", { signal: AbortSignal.timeout(2_000) });
  assert.equal(pongs, 0);
});

test("many messages in a second are refused if they are small on average", () => {
  const refusedAfter = (size: number) => {
    const socket = new EventEmitter();
    let after: number | undefined;
    let sent = 0;
    limitMessages(socket as unknown as WebSocket, () => (after ??= sent));
    for (; sent < 12_000; sent++) socket.emit("message", Buffer.alloc(size));
    return after;
  };
  assert.equal(refusedAfter(9), 10_000);
  assert.equal(refusedAfter(100), undefined);
});
