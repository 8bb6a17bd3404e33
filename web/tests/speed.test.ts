// A slice of the measurement of speed.ts: what does not depend on how busy the machine is.
import assert from "node:assert/strict";
import { test } from "node:test";
import { measure } from "./measure-session.ts";

test("a session of 20,000 entries has fewer than 2,000 nodes in the page, however far it is scrolled", async () => {
  const { nodes, rows } = await measure(20_000, 20);
  assert.ok(rows >= 600, "older pages were read");
  assert.ok(nodes < 2_000, `${nodes} nodes`);
});
