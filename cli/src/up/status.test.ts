import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { identify, writeRunState } from "./run-state.ts";
import { describeStatus, readStatus } from "./status.ts";

function place(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "hawser-status-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

test("the status says why a running node is not ready", async (t) => {
  const data = place(t);
  const node = createServer((_request, response) => {
    response.writeHead(503).end("the database does not answer\n");
  }).listen(0, "127.0.0.1");
  t.after(() => node.close());
  await once(node, "listening");
  const { port } = node.address() as AddressInfo;
  const ports = { http: port, nats: 1, websocket: 2, monitor: 3 };
  const url = `http://127.0.0.1:${port}`;
  writeFileSync(join(data, "settings.json"), JSON.stringify({ url, ports }));
  writeRunState(data, { ...identify(process.pid), since: "", isReady: true, parts: [] });
  const status = await readStatus(data);
  assert.deepEqual([status.answers, status.reason], [false, "the database does not answer"]);
  assert.match(
    describeStatus(status)[1]!,
    /cannot be used now: the database does not answer\. To see why: hawser logs/,
  );
  node.close();
  node.closeAllConnections();
  assert.equal((await readStatus(data)).reason, "the node does not answer");
});

test("the status says why everything has stopped by itself", async (t) => {
  const data = place(t);
  const ended = { pid: process.pid, startId: "another boot 1", since: "", isReady: false };
  const failure = "PostgreSQL was started 6 times within a minute.";
  writeRunState(data, { ...ended, parts: [], failure });
  assert.match(describeStatus(await readStatus(data)).join("\n"), /It has stopped by itself: Post/);
  writeRunState(data, { ...ended, parts: [] });
  assert.equal(describeStatus(await readStatus(data)).length, 1);
});
