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
