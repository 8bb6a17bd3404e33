// Loopback ports of exposures: served by one of several nodes, by another one after that, and by none in the end.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import { answered, startExposureBed, type ExposureBed } from "@hawser/testkit/exposure-bed.ts";
import { startExposedServer, type ExposedServer } from "@hawser/testkit/exposed-server.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { until } from "@hawser/testkit/until.ts";

let server: ExposedServer;
let bed: ExposureBed;

before(async () => {
  server = await startExposedServer();
  bed = await startExposureBed(server.handle, { nodes: 2, loopback: true });
});

after(async () => {
  await bed[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function makeAtPort(port: number) {
  const made = bed.make();
  bed.exposures.set(made.exposureId, { ...made, port });
  return made;
}

/** The status of an answer at a port; "none" if nothing listens. */
async function statusAt(port: number, authorization: string, host = `127.0.0.1:${port}`) {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    headers: { authorization, host },
  }).catch(() => undefined);
  return response?.status ?? "none";
}

test("an exposure is served at its port by one node, and by the other one when that has gone", async () => {
  const port = await freePort();
  const { authorization, exposureId } = await makeAtPort(port);
  await until(
    "the port is served",
    async () => (await statusAt(port, authorization)) === 200,
    3_000,
  );
  assert.equal(await statusAt(port, "Basic eDp4"), 401);
  await bed.nodes[0]!.traffic.close();
  bed.dialsNode = 1;
  await until(
    "the other node serves",
    async () => (await statusAt(port, authorization)) === 200,
    5_000,
  );
  bed.exposures.delete(exposureId);
  await until(
    "the port is closed",
    async () => (await statusAt(port, authorization)) === "none",
    3_000,
  );
});

test("a port answers to names of this machine only", async () => {
  const port = await freePort();
  bed.dialsNode = 1;
  const made = await makeAtPort(port);
  await until(
    "the port is served",
    async () => (await statusAt(port, made.authorization)) === 200,
    3_000,
  );
  const cases: [string, number][] = [
    [`127.0.0.1:${port}`, 200],
    [`localhost:${port}`, 200],
    [`rebound.example:${port}`, 401],
    ["127.0.0.1", 401],
  ];
  for (const [host, status] of cases) {
    bed.nodes[1]!.publicPort = port;
    const request = bed.request(made, { node: 1, headers: { host } });
    assert.equal((await answered(request)).status, status, host);
  }
});

test("a port that another program has is served once it is free", async () => {
  const port = await freePort();
  const other = createServer((socket) => socket.destroy());
  other.listen(port, "127.0.0.1");
  bed.dialsNode = 1;
  const { authorization } = await makeAtPort(port);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  assert.equal(await statusAt(port, authorization), "none");
  other.close();
  await until(
    "the port is served",
    async () => (await statusAt(port, authorization)) === 200,
    3_000,
  );
});
