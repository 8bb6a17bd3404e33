import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "@hawser/contract";
import { createProviderPlaces } from "./provider-places.ts";

test("an organization whose provider hangs is refused more, and delays no other one", async () => {
  const places = createProviderPlaces(2);
  const { promise, resolve } = Promise.withResolvers<string>();
  const hanging = [places.run("acme", () => promise), places.run("acme", () => promise)];
  const isRefused = (error: unknown) => error instanceof Refusal && error.code === "rate_limited";
  await assert.rejects(
    places.run("acme", () => promise),
    isRefused,
  );
  assert.equal(await places.run("globex", () => Promise.resolve("done")), "done");
  resolve("late");
  assert.deepEqual(await Promise.all(hanging), ["late", "late"]);
  await assert.rejects(
    places.run("acme", () => Promise.reject(new Error("failed"))),
    /failed/,
  );
  assert.equal(await places.run("acme", () => Promise.resolve("done")), "done");
});
