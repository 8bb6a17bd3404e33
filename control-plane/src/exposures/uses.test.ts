// The counts of uses of exposures (N22) are complete, even if a report fails.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../log.ts";
import type { ExposureUse } from "./open-exposure.ts";
import { createUses } from "./uses.ts";

const one = { exposureId: "exp_1", organizationId: "org_1" };

test("N22: counts that could not be recorded are recorded with the next ones, once", async () => {
  const recorded: ExposureUse[] = [];
  const outcomes = ["fails", "works"];
  const uses = createUses({
    recordUse: async (rows) => {
      if (outcomes.shift() === "fails") throw new Error("down");
      recorded.push(...rows);
    },
    now: () => 7,
    log: createLog("silent"),
  });
  uses.count(one, "a", "requests", 1);
  uses.count(one, "a", "bytesIn", 10);
  uses.count(one, "b", "refused", 1);
  await uses.close();
  assert.deepEqual(recorded, []);
  uses.count(one, "a", "requests", 1);
  await uses.close();
  const none = { ...one, requests: 0, refused: 0, bytesIn: 0, bytesOut: 0, lastUsedAt: 0 };
  assert.deepEqual(recorded, [
    { ...none, address: "a", requests: 2, bytesIn: 10, lastUsedAt: 7 },
    { ...none, address: "b", refused: 1 },
  ]);
  await uses.close();
  assert.equal(recorded.length, 2);
});

test("the memory is bounded: further addresses are counted as one", async () => {
  const recorded: ExposureUse[] = [];
  const uses = createUses({
    recordUse: async (rows) => void recorded.push(...rows),
    now: Date.now,
    log: createLog("silent"),
  });
  for (let i = 0; i < 30_000; i++) uses.count(one, `10.${i}`, "requests", 1);
  await uses.close();
  assert.equal(recorded.length, 20_001);
  assert.equal(recorded.find(({ address }) => address === "other")!.requests, 10_000);
});

test("an address is reported at once, and then once a minute at most", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const recorded: ExposureUse[] = [];
  let now = 1_000_000;
  const uses = createUses({
    recordUse: async (rows) => void recorded.push(...rows),
    now: () => now,
    log: createLog("silent"),
  });
  uses.start();
  const bytes = () => recorded.map(({ bytesOut }) => bytesOut);
  for (let second = 0; second < 120; second += 3) {
    uses.count(one, "a", "bytesOut", 1);
    now += 3_000;
    t.mock.timers.tick(3_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(bytes(), [1, 20]);
  await uses.close();
  assert.deepEqual(bytes(), [1, 20, 19]);
});

test("strangers at an exposure have 50 rows at most, and do not hide its users", async () => {
  const recorded: ExposureUse[] = [];
  const uses = createUses({
    recordUse: async (rows) => void recorded.push(...rows),
    now: Date.now,
    log: createLog("silent"),
  });
  for (let i = 0; i < 30_000; i++) uses.count(one, `2001:db8:${i.toString(16)}::1`, "refused", 1);
  uses.count(one, "192.0.2.1", "requests", 1);
  uses.count(one, "192.0.2.1", "refused", 1);
  await uses.close();
  const strangers = recorded.filter(({ refused }) => refused > 0);
  assert.equal(strangers.length, 51);
  assert.equal(
    strangers.reduce((all, { refused }) => all + refused, 0),
    30_001,
  );
  assert.deepEqual(
    recorded.filter(({ requests }) => requests > 0).map(({ address }) => address),
    ["192.0.2.1"],
  );
});
