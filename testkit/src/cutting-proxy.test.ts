import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startCuttingProxy, type CuttingProxy } from "./cutting-proxy.ts";

const echo = createServer((socket) => socket.on("error", () => {}).pipe(socket));
let proxy: CuttingProxy;

before(async () => {
  echo.listen(0, "127.0.0.1");
  await once(echo, "listening");
  proxy = await startCuttingProxy({ port: (echo.address() as AddressInfo).port });
});

after(async () => {
  await proxy[Symbol.asyncDispose]();
  echo.close();
  echo.unref();
});

async function dial(): Promise<Socket> {
  const socket = connect(proxy.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

const answer = async (socket: Socket) => String((await once(socket, "data"))[0]);

test("bytes pass, and none are lost to a freeze: they arrive when it ends", async () => {
  const socket = await dial();
  socket.write("one");
  assert.equal(await answer(socket), "one");
  proxy.freeze();
  socket.write("two");
  const arrived = answer(socket);
  assert.equal(await Promise.race([arrived, sleep(100, "nothing")]), "nothing");
  assert.equal(socket.destroyed, false, "a frozen link looks alive");
  proxy.heal();
  assert.equal(await arrived, "two");
  socket.destroy();
});

test("a cut ends what is open and refuses what comes, until it heals", async () => {
  const socket = await dial();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  proxy.cut();
  await closed;
  const refused = connect(proxy.port, "127.0.0.1").on("error", () => {});
  refused.resume();
  await new Promise((resolve) => refused.once("close", resolve));
  proxy.heal();
  const again = await dial();
  again.write("back");
  assert.equal(await answer(again), "back");
  again.destroy();
});

test("a delay holds every byte back", async () => {
  const socket = await dial();
  proxy.delay(100);
  const started = performance.now();
  socket.write("slow");
  await answer(socket);
  assert.ok(performance.now() - started >= 190, "there and back");
  proxy.heal();
  socket.destroy();
});
