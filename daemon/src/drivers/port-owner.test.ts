// Which process listens on a port.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { test } from "node:test";
import { isListening, listListeners } from "./port-owner.ts";

test("a port belongs to the process that listens on it, until it stops", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const other = spawn("sleep", ["60"]);
  await once(other, "spawn");
  try {
    assert.equal(isListening(process.pid, port), true);
    assert.equal(isListening(other.pid!, port), false);
    assert.equal(isListening(process.pid, port === 65_535 ? 1 : port + 1), false);
    server.close();
    await once(server, "close");
    assert.equal(isListening(process.pid, port), false);
  } finally {
    other.kill();
    server.close();
  }
});

const listenOn = async (options: { host: string; port: number; ipv6Only?: boolean }) => {
  const server = createServer().listen(options);
  await once(server, "listening");
  return server;
};

test("a socket on :: is reached by IPv6 first, because another may accept IPv4", async () => {
  const server = await listenOn({ host: "::", port: 0, ipv6Only: true });
  const { port } = server.address() as AddressInfo;
  const other = await listenOn({ host: "::ffff:0.0.0.0", port });
  const found = listListeners().filter((each) => each.port === port);
  server.close();
  other.close();
  assert.deepEqual(found.map(({ hosts }) => hosts.join(" ")).sort(), [
    "127.0.0.1",
    "::1 127.0.0.1",
  ]);
});

test("the cost of finding listeners grows with their number, and not with its square", async () => {
  const servers: Server[] = [];
  const listen = async (count: number) => {
    const added = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
    servers.push(...added);
    await Promise.all(added.map((server) => once(server, "listening")));
  };
  try {
    await listen(1_000);
    const few = cheapestMs(listListeners);
    await listen(3_000);
    const many = cheapestMs(listListeners);
    const ports = new Set(listListeners().map(({ port }) => port));
    for (const server of servers) assert.ok(ports.has((server.address() as AddressInfo).port));
    assert.ok(many < 8 * few, `1,000 cost ${few} ms, and 4,000 cost ${many} ms`);
  } finally {
    for (const server of servers) server.close();
  }
});

/** Processor time of the cheapest of some calls. */
function cheapestMs(work: () => unknown): number {
  const costs = Array.from({ length: 8 }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...costs);
}
