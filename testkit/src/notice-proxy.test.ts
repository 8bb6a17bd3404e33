// The proxy that drops messages, tested with raw NATS protocol text.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { startNoticeProxy, type NoticeProxy } from "./notice-proxy.ts";

const frames = [
  'INFO {"server_id":"x"}\r\n',
  "MSG host.a.up 1 _INBOX.1 9\r\nMSG\r\nPING\r\n",
  "MSG session.s1.applied 2 1\r\n7\r\n",
  "HMSG session.s2.applied 2 12 17\r\nNATS/1.0\r\n\r\nhello\r\n",
  "MSG session.s1.other 3 0\r\n\r\n",
  "PING\r\n",
];
const server = createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", (asked: Buffer) => {
    const size = Number(asked.toString());
    const all = frames.join("");
    for (let at = 0; at < all.length; at += size) socket.write(all.slice(at, at + size));
    socket.end();
  });
});
let proxy: NoticeProxy;

before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  proxy = await startNoticeProxy({ port: (server.address() as AddressInfo).port });
});

after(async () => {
  await proxy[Symbol.asyncDispose]();
  server.close();
});

/** Everything that arrives if the server sends in pieces of this size. */
async function receive(size: number): Promise<string> {
  const socket: Socket = connect(proxy.port, "127.0.0.1");
  socket.write(String(size));
  let text = "";
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString();
  return text;
}

test("it passes everything, and drops what it is set to drop, however it is cut into pieces", async () => {
  assert.equal(await receive(7), frames.join(""));
  assert.equal(proxy.lost(), 0);
  proxy.lose(/^session\..+\.applied$/);
  const kept = frames.filter((_, index) => index !== 2 && index !== 3).join("");
  for (const size of [1, 5, 1000]) assert.equal(await receive(size), kept);
  assert.equal(proxy.lost(), 6);
  proxy.lose();
  assert.equal(await receive(11), frames.join(""));
});
