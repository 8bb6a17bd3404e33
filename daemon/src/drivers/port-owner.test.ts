// Which process listens on a port.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";
import { isListening } from "./port-owner.ts";

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
