// Loopback ports of exposures: served by one of several nodes, by another one after that, and by none in the end.
import assert from "node:assert/strict";
import { get } from "node:http";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
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

/** The status of an answer on a connection of its own, or the message of the connection's error. */
function answerAt(port: number, authorization: string): Promise<number | string> {
  return new Promise((resolve) => {
    get({ host: "127.0.0.1", port, agent: false, headers: { authorization } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).once("error", (error) => resolve(error.message));
  });
}

test("a request that arrives before the port of an ended exposure is closed is answered", async () => {
  const port = await freePort();
  const { authorization, exposureId } = await makeAtPort(port);
  await until(
    "the port is served",
    async () => (await statusAt(port, authorization)) === 200,
    3_000,
  );
  bed.exposures.delete(exposureId);
  const answers: Promise<number | string>[] = [];
  let isClosed = false;
  await until(
    "the port is closed",
    async () => {
      const answer = answerAt(port, authorization);
      answers.push(answer);
      void answer.then((text) => (isClosed ||= String(text).includes("ECONNREFUSED")));
      await pause(2);
      return isClosed;
    },
    3_000,
  );
  const seen = new Set(await Promise.all(answers));
  // The kernel refuses and resets connections that the server has not accepted.
  const byKernel = /^(?:connect|read) ECONN(?:REFUSED|RESET)/;
  const others = [...seen].filter((answer) => !byKernel.test(String(answer)));
  assert.ok(seen.has(401));
  assert.deepEqual(
    others.filter((answer) => answer !== 200 && answer !== 401),
    [],
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
