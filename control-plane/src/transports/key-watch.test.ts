// A stream's key is checked again and again; a key that cannot be checked is not refused at once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "@hawser/contract";
import { until } from "@hawser/testkit/until.ts";
import { createKeyWatch } from "./key-watch.ts";

const unavailable = new Refusal("unavailable", "The database is away.");
const unauthenticated = new Refusal("unauthenticated", "The key is not valid.");

test("a key that is refused ends it, once", async () => {
  const answers = [undefined, unavailable, unauthenticated];
  const seen: (Refusal | undefined)[] = [];
  let ends = 0;
  createKeyWatch({ everyMs: 5, unjudgedMs: 60_000 }).watch(
    async () => {
      seen.push(answers[seen.length]);
      return seen.at(-1);
    },
    () => (ends += 1),
  );
  await until("the end", () => ends > 0);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.deepEqual([seen, ends], [answers, 1]);
});

test("a key that could not be judged for long ends it, however good it was", async () => {
  const startedAt = performance.now();
  let looks = 0;
  let endedAt: number | undefined;
  createKeyWatch({ everyMs: 5, unjudgedMs: 1_000 }).watch(
    async () => {
      looks += 1;
      return unavailable;
    },
    () => (endedAt = performance.now()),
  );
  await until("the end", () => endedAt !== undefined);
  assert.ok(endedAt! - startedAt >= 1_000 && looks > 1, `${looks} looks`);
});

test("no look begins before the one before is done, and none counts after it was stopped", async () => {
  const look = Promise.withResolvers<Refusal>();
  let looks = 0;
  let ends = 0;
  const stop = createKeyWatch({ everyMs: 5, unjudgedMs: 60_000 }).watch(
    () => {
      looks += 1;
      return look.promise;
    },
    () => (ends += 1),
  );
  await until("a look", () => looks > 0);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(looks, 1);
  stop();
  look.resolve(unauthenticated);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.deepEqual([looks, ends], [1, 0]);
});

test("all keys are checked at the same moment, whenever their streams were opened", async () => {
  const keys = createKeyWatch({ everyMs: 40, unjudgedMs: 60_000 });
  const looks: { stream: number; at: number }[] = [];
  const stops: (() => void)[] = [];
  for (let stream = 0; stream < 3; stream++) {
    stops.push(
      keys.watch(
        async () => void looks.push({ stream, at: Math.round(performance.now()) }),
        () => {},
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  // A busy machine may have checked the first before the last was opened.
  looks.length = 0;
  await until("two checks of each", () => looks.length >= 6);
  stops.forEach((stop) => stop());
  for (let stream = 1; stream < 3; stream++) {
    const between = looks.find((look) => look.stream === stream)!.at - looks[0]!.at;
    assert.ok(between < 5, `${between} ms`);
  }
});
