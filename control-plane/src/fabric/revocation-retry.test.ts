// A push of revocations that fails is repeated until it succeeds, and stops nobody meanwhile.
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@hawser/testkit/until.ts";
import { createLog } from "../log.ts";
import { createRevocationRetry } from "./revocation-retry.ts";

const log = createLog("silent");
const failing = () => Promise.reject(new Error("NATS refuses."));

test("a failed push throws nothing, and is repeated until it succeeds", async () => {
  let pushes = 0;
  const failures: number[] = [];
  const retry = createRevocationRetry({
    revocations: { push: () => (++pushes <= 3 ? failing() : Promise.resolve()) },
    observe: (count) => void failures.push(count),
    log,
    firstWaitMs: 5,
  });
  await retry.push();
  assert.deepEqual(failures, [1]);
  await until("it succeeds", () => failures.at(-1) === 0);
  assert.deepEqual(failures, [1, 2, 3, 0]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(pushes, 4, "and then no more");
});

test("a caller does not wait for a push that takes long", async () => {
  const slow = Promise.withResolvers<void>();
  const failures: number[] = [];
  const retry = createRevocationRetry({
    revocations: { push: () => slow.promise },
    observe: (count) => void failures.push(count),
    log,
    patienceMs: 20,
  });
  await retry.push();
  assert.deepEqual(failures, []);
  slow.resolve();
  await until("it is over", () => failures.length === 1);
});

test("after it is closed nothing is repeated", async () => {
  let pushes = 0;
  const retry = createRevocationRetry({
    revocations: {
      push() {
        pushes += 1;
        return failing();
      },
    },
    observe: () => {},
    log,
    firstWaitMs: 5,
  });
  await retry.push();
  retry.close();
  await retry.push();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(pushes, 2);
});
