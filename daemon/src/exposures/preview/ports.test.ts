// How often all processes are looked at to find out whose port it is.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { freePort } from "@hawser/testkit/free-port.ts";
import { serverText } from "@hawser/testkit/preview-host.ts";
import { until } from "@hawser/testkit/until.ts";
import { createSessionPorts } from "./ports.ts";

const startAgent = (startId: string, ...args: string[]) =>
  spawn(process.execPath, args, { env: { HAWSER_AGENT: startId }, stdio: "ignore" });

test("a foreign socket is looked for once a second at most, and a new one at once", async () => {
  const [startId, port] = [randomUUID(), await freePort()];
  const other = startAgent(startId, "-e", "setTimeout(() => {}, 60_000)");
  await once(other, "spawn");
  const foreign = createServer().listen(port, "127.0.0.1");
  await once(foreign, "listening");
  let looks = 0;
  let now = 0;
  const ports = createSessionPorts(
    (found) => {
      looks += found.pid === other.pid ? 1 : 0;
      return found.startId === startId;
    },
    () => now,
  );
  try {
    for (let request = 0; request < 10; request++) assert.deepEqual(ports.hostsOf(port), []);
    assert.equal(looks, 1);
    now += 1_000;
    assert.deepEqual(ports.hostsOf(port), []);
    assert.equal(looks, 2);

    foreign.close();
    await once(foreign, "close");
    assert.deepEqual(ports.hostsOf(port), []);
    const server = startAgent(startId, "-e", serverText(port));
    try {
      await until("the session's server is found", () => ports.hostsOf(port).length > 0);
      assert.deepEqual(ports.hostsOf(port), ["127.0.0.1"]);
    } finally {
      server.kill();
    }
  } finally {
    other.kill();
    foreign.close();
  }
});
