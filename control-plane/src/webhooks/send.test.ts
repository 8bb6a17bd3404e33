// One attempt to send a message, with receivers that answer in every way (T27, T28, N31).
import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { startWebhookReceiver, type WebhookReceiver } from "@hawser/testkit/webhook-receiver.ts";
import { createAddresses } from "./addresses.ts";
import { send } from "./send.ts";

const message = { headers: { "webhook-id": "dlv_1" }, body: '{"type":"test","data":{}}' };
/** Only the first of the loopback addresses may be reached. */
const onlyFirst = ["127.0.0.1/32"];
const addresses = createAddresses(onlyFirst);
let receiver: WebhookReceiver;
/** A service that webhooks must not reach. */
let decoy: WebhookReceiver;

before(async () => {
  receiver = await startWebhookReceiver();
  decoy = await startWebhookReceiver("127.0.0.2");
});
after(async () => {
  assert.deepEqual(decoy.messages, [], "no message has reached the decoy");
  await receiver[Symbol.asyncDispose]();
  await decoy[Symbol.asyncDispose]();
});

for (const [status, error] of [
  [200, null],
  [204, null],
  [299, null],
  [400, "bad_status"],
  [401, "bad_status"],
  [410, "bad_status"],
  [500, "bad_status"],
  [301, "redirected"],
  [304, "redirected"],
] as const) {
  test(`a receiver that answers ${status}: ${error ?? "delivered"}`, async () => {
    receiver.answer = () => ({ status });
    assert.deepEqual(await send(addresses, receiver.url, message), { status, error });
  });
}

/** What a receiver writes after it has received something, and what becomes of the attempt. */
const oddAnswers: Record<string, [answer: string, status: number | null, error: string]> = {
  "an upgrade": [
    "HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
    101,
    "bad_status",
  ],
  "endless interim answers": [
    "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100_000),
    103,
    "bad_status",
  ],
  "something else than HTTP": ["SSH-2.0-x\r\n", null, "connection_failed"],
  "a status line without an end": ["HTTP/1.1 200 ".padEnd(5_000, "x"), 200, ""],
};
for (const [what, [answer, status, error]] of Object.entries(oddAnswers)) {
  test(`a receiver that answers with ${what} does not hold the node up`, async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.write(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const startedAt = process.cpuUsage();
    const sent = await send(addresses, `http://127.0.0.1:${port}/`, message);
    assert.deepEqual(sent, { status, error: error === "" ? null : error });
    assert.ok(process.cpuUsage(startedAt).user < 1_000_000);
    server.close();
  });
}

test("N31: a redirect to a private address is not followed", async () => {
  receiver.answer = () => ({ redirect: decoy.url });
  assert.deepEqual(await send(addresses, receiver.url, message), {
    status: 302,
    error: "redirected",
  });
});

test("N31: a private address is not connected to, by number or by name", async () => {
  const notAllowed = { status: null, error: "address_not_allowed" };
  assert.deepEqual(await send(addresses, decoy.url, message), notAllowed);
  const byName = createAddresses(onlyFirst, () => Promise.resolve(["127.0.0.2"]));
  const url = decoy.url.replace("127.0.0.2", "decoy.example");
  assert.deepEqual(await send(byName, url, message), notAllowed);
});

test("N31: a name that changes between check and connection leads to the checked address", async () => {
  receiver.answer = () => ({ status: 200 });
  let asked = 0;
  const rebinding = createAddresses(onlyFirst, () =>
    Promise.resolve([asked++ === 0 ? "127.0.0.1" : "127.0.0.2"]),
  );
  const url = receiver.url.replace("127.0.0.1", "rebinding.example");
  assert.deepEqual(await send(rebinding, url, message), { status: 200, error: null });
  assert.equal(asked, 1);
  assert.equal(receiver.messages.at(-1)!.headers["host"], new URL(url).host);
});

test("of several addresses only the allowed ones are tried", async () => {
  const both = createAddresses(onlyFirst, () => Promise.resolve(["127.0.0.2", "127.0.0.1"]));
  const url = receiver.url.replace("127.0.0.1", "both.example");
  assert.deepEqual(await send(both, url, message), { status: 200, error: null });
});

test("a receiver that resets the connection, and a port without one", async () => {
  receiver.answer = () => ({ reset: true });
  const failed = { status: null, error: "connection_failed" };
  assert.deepEqual(await send(addresses, receiver.url, message), failed);
  const gone = await startWebhookReceiver();
  await gone[Symbol.asyncDispose]();
  assert.deepEqual(await send(addresses, gone.url, message), failed);
});

test("a name without an address, and a receiver without TLS", async () => {
  const unknown = createAddresses(onlyFirst, () => Promise.resolve([]));
  assert.deepEqual(await send(unknown, "https://nothing.example/", message), {
    status: null,
    error: "name_not_found",
  });
  receiver.answer = () => ({ status: 200 });
  assert.deepEqual(await send(addresses, receiver.url.replace("http:", "https:"), message), {
    status: null,
    error: "tls_failed",
  });
});

test("T28: a receiver that accepts and never answers is given up after ten seconds", async () => {
  receiver.answer = () => ({ hang: true });
  const began = performance.now();
  assert.deepEqual(await send(addresses, receiver.url, message), {
    status: null,
    error: "timeout",
  });
  const took = performance.now() - began;
  assert.ok(took > 9_500 && took < 12_000, `${took} ms`);
});

test("an endless answer is not read", async () => {
  let written = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const more = () => {
        if (socket.destroyed || written > 50_000_000) return;
        written += 65_536;
        if (socket.write(Buffer.alloc(65_536))) setImmediate(more);
        else socket.once("drain", more);
      };
      more();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const attempt = await send(addresses, `http://127.0.0.1:${port}/`, message);
  assert.deepEqual(attempt, { status: 200, error: null });
  await new Promise((resolve) => server.close(resolve));
  assert.ok(written < 10_000_000, `${written} bytes`);
});
