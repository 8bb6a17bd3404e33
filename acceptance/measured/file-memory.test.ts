// What many uploads of files at once cost a node in memory.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createCaller } from "@hawser/testkit/caller.ts";
import type { World } from "@hawser/testkit/world.ts";
import { tell } from "../figures.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld();

const MiB = 1024 * 1024;

scenario("Ten uploads of 16 MiB at once cost the node little memory", [], async ({ world }) => {
  // The garbage of a node differs by 20 MB from one moment to another, so the median of three new nodes counts.
  const rises: number[] = [];
  for (let n = 0; n < 3; n++) rises.push(await riseOf(await world.addNode(), world));
  tell(
    `10 × 16 MiB of files up at once: memory +${rises.map((rise) => rise.toFixed(0)).join(", +")} MB`,
  );
  const [, median] = rises.toSorted((a, b) => a - b);
  assert.ok(median! < 64, `${rises.join(", ")} MB`);
});

/** In MB. */
async function riseOf({ pid, baseUrl }: World["nodes"][number], world: World): Promise<number> {
  const caller = createCaller(baseUrl, world.caller.key);
  const memory = () => {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) * 1024;
  };
  const send = () =>
    caller.request("/api/files", { method: "POST", body: new Uint8Array(randomBytes(16 * MiB)) });
  // Ten in a row let garbage grow as far as the runtime allows. Ten at once may need little more.
  for (let n = 0; n < 10; n++) assert.equal((await send()).status, 201);
  const before = memory();
  let most = before;
  const watch = setInterval(() => void (most = Math.max(most, memory())), 20);
  try {
    const replies = await Promise.all(Array.from({ length: 10 }, send));
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201]);
  } finally {
    clearInterval(watch);
  }
  return (most - before) / 1e6;
}
