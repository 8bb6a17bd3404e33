// How many passwords an address may guess, and that no other address is slowed down by it (T24).
import assert from "node:assert/strict";
import { test } from "node:test";
import { createThrottle, networkOf, type Throttle } from "./throttle.ts";

function stage() {
  const clock = { now: 0 };
  return { clock, throttle: createThrottle({ now: () => clock.now }) };
}

/** Lets attempts fail. */
async function fail(throttle: Throttle, times: number, exposure = "e", from = "a"): Promise<void> {
  for (let i = 0; i < times; i++) {
    const attempt = await throttle.begin(exposure, from);
    if ("end" in attempt) attempt.end({ isWrong: true });
  }
}

/** The answer to an attempt with the right password. */
async function ask(
  throttle: Throttle,
  exposure = "e",
  from = "a",
): Promise<{ delayMs: number } | { lockedMs: number }> {
  const attempt = await throttle.begin(exposure, from);
  if ("lockedMs" in attempt) return attempt;
  attempt.end({ isWrong: false });
  return { delayMs: attempt.delayMs };
}

test("T24: the wait before a password is checked depends on the failures of the address", async () => {
  const cases: { failures: number; answer: Awaited<ReturnType<typeof ask>> }[] = [
    { failures: 0, answer: { delayMs: 0 } },
    { failures: 9, answer: { delayMs: 0 } },
    { failures: 10, answer: { delayMs: 100 } },
    { failures: 12, answer: { delayMs: 300 } },
    { failures: 99, answer: { delayMs: 2_000 } },
    { failures: 100, answer: { lockedMs: 60_000 } },
  ];
  for (const { failures, answer } of cases) {
    const { throttle } = stage();
    await fail(throttle, failures);
    assert.deepEqual(await ask(throttle), answer, `${failures} failures`);
    assert.deepEqual(await ask(throttle), answer, "an attempt that passed does not count");
    assert.deepEqual(await ask(throttle, "e", "b"), { delayMs: 0 }, "another address");
  }
});

test("failures at one exposure do not delay another until the address is locked", async () => {
  const { throttle } = stage();
  await fail(throttle, 50, "e");
  assert.deepEqual(await ask(throttle, "f"), { delayMs: 0 });
  await fail(throttle, 50, "g");
  assert.deepEqual(await ask(throttle, "f"), { lockedMs: 60_000 });
});

test("failures and locks are forgotten after a minute", async () => {
  const { clock, throttle } = stage();
  await fail(throttle, 20);
  clock.now = 60_000;
  assert.deepEqual(await ask(throttle), { delayMs: 0 });
  await fail(throttle, 101);
  clock.now = 119_999;
  assert.equal(throttle.lockedMs("a"), 1);
  assert.deepEqual(await ask(throttle), { lockedMs: 1 });
  clock.now = 120_000;
  assert.equal(throttle.lockedMs("a"), 0);
  assert.deepEqual(await ask(throttle), { delayMs: 0 });
});

test("T24: 100,000 failures from 50 addresses, and from 100,000, leave a clean address alone", async () => {
  for (const many of [50, 100_000]) {
    const { throttle } = stage();
    for (let i = 0; i < 100_000; i++) await fail(throttle, 1, "e", `10.${i % many}`);
    assert.deepEqual(await ask(throttle, "e", "192.0.2.1"), { delayMs: 0 });
  }
});

test("the memory is bounded: old addresses are forgotten, and each counts all its exposures", async () => {
  const { throttle } = stage();
  await fail(throttle, 50, "e", "first");
  for (let i = 0; i < 20_000; i++) await fail(throttle, 1, "e", `10.${i}`);
  assert.deepEqual(await ask(throttle, "e", "first"), { delayMs: 0 });
  for (let i = 0; i < 100; i++) await fail(throttle, 1, `e${i}`, "one");
  assert.deepEqual(await ask(throttle, "other", "one"), { lockedMs: 60_000 });
});

test("addresses of one IPv6 network count as one", () => {
  const cases: [string, string][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:0db8:1::9", "2001:db8:1:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ];
  for (const [address, network] of cases) assert.equal(networkOf(address), network, address);
});

test("an attempt that began in a former period does not replace the count of this one", async () => {
  const { clock, throttle } = stage();
  const late = await throttle.begin("e", "a");
  clock.now = 60_000;
  await fail(throttle, 99);
  if ("end" in late) late.end({ isWrong: true });
  await fail(throttle, 1);
  assert.equal(throttle.lockedMs("a"), 60_000);
});

test("right passwords that are checked at the same time lock nobody out, and wrong ones do", async () => {
  for (const isWrong of [false, true]) {
    const { throttle } = stage();
    const attempts = Array.from({ length: 150 }, async (_, i) => {
      const attempt = await throttle.begin(`e${i}`, "a");
      if ("lockedMs" in attempt) return "locked";
      await new Promise((resolve) => setImmediate(resolve));
      attempt.end({ isWrong });
      return "checked";
    });
    const checked = (await Promise.all(attempts)).filter((each) => each === "checked").length;
    assert.equal(checked, isWrong ? 100 : 150);
    assert.equal(throttle.lockedMs("a") > 0, isWrong);
  }
});
