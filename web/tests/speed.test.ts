// The budget of speed, as far as it does not depend on how busy the machine is. speed.ts and size.ts measure the rest.
import assert from "node:assert/strict";
import { test } from "node:test";
import { budget, firstLoads, gzippedAll } from "./first-load.ts";
import { measure } from "./measure-session.ts";

test("10 Speed: no page loads more than 200 kB of scripts and styles before it is shown", async () => {
  const loads = [...(await firstLoads())];
  assert.equal(loads.length, 5);
  for (const [address, { files, later }] of loads) {
    const size = gzippedAll(files);
    assert.ok(size > 100_000, `${address}: ${size} bytes cannot be all of it`);
    assert.ok(size < budget, `${address} loads ${size} bytes`);
    if (address !== "/sign-in") assert.ok(later.length > 0, `${address} loads ahead when idle`);
  }
});

test("4.1 Transcript: a session of 20,000 entries has fewer than 2,000 nodes in the page, however far it is scrolled", async () => {
  const { nodes, rows } = await measure(20_000, 20);
  assert.ok(rows >= 600, "older pages were read");
  assert.ok(nodes < 2_000, `${nodes} nodes`);
});
