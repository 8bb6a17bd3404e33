// A dial that is given up in the middle of its handshake.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { nkeyFromSeed } from "@hawser/host-protocol";
import { startSmallControlPlane } from "@hawser/testkit/small-control-plane.ts";
import { within } from "../pause.ts";
import { openState } from "../state/state.ts";
import { dial } from "./dial.ts";
import { createServerClock } from "./server-clock.ts";

test("a dial that is given up right after the upgrade fails, and does not wait for ever", async (t) => {
  const control = await startSmallControlPlane();
  t.after(() => control[Symbol.asyncDispose]());
  const state = openState(join(control.directory, "state"));
  const instanceId = control.pair(state);
  await control.startFabric();
  const { serverUrl, seed, token } = state.readCredentials()!;
  const dialling = {
    serverUrl,
    instanceId,
    key: nkeyFromSeed(seed),
    token: () => token,
    clock: createServerClock(),
    pingMs: 1_000,
    patienceMs: 1_000,
  };
  const ending = new AbortController();
  const { signal } = ending;
  const listen = signal.addEventListener.bind(signal);
  let listeners = 0;
  // The second listener is added when the WebSocket is open, and before the NATS library has it.
  signal.addEventListener = (type: string, listener: () => void) => {
    listen(type, listener);
    if (++listeners === 2) ending.abort();
  };
  const failed = assert.rejects(dial(dialling, signal), /closed during its handshake/);
  assert.ok(await within(10_000, failed), "the dial has ended");
  assert.equal(control.upgrades.admitted, 1);
});
