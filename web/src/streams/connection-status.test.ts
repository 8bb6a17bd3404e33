import assert from "node:assert/strict";
import { test } from "node:test";
import { createConnectionStatus } from "./connection-status.ts";

const times = { footAfterMs: 40, stripAfterMs: 120 };
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("5 Stream reconnecting: a short break shows nothing", async () => {
  const status = createConnectionStatus(times);
  status.set({ is: "live" });
  let changes = 0;
  status.subscribe(() => changes++);
  status.set({ is: "connecting", since: 5 });
  await wait(10);
  status.set({ is: "live" });
  await wait(60);
  assert.deepEqual([status.get(), changes], [{ shows: "live" }, 0]);
});

test("5 Stream reconnecting: a longer break shows first in the foot, then in a strip with the time of the last truth", async () => {
  const status = createConnectionStatus(times);
  const seen: unknown[] = [];
  status.subscribe(() => seen.push(status.get()));
  status.set({ is: "connecting", since: 5 });
  // Attempts within one break do not begin it again.
  await wait(20);
  status.set({ is: "connecting", since: 5 });
  await wait(200);
  status.set({ is: "live" });
  assert.deepEqual(seen, [
    { shows: "reconnecting", since: 5, strip: false },
    { shows: "reconnecting", since: 5, strip: true },
    { shows: "live" },
  ]);
});

test("a refusal shows at once", () => {
  const status = createConnectionStatus(times);
  status.set({ is: "refused", status: 401, code: "unauthenticated" });
  assert.deepEqual(status.get(), { shows: "refused", status: 401, code: "unauthenticated" });
});
