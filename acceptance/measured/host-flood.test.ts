// What other organizations notice of a host that sends as fast as it can.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Caller } from "@hawser/testkit/caller.ts";
import { startDeafHost } from "@hawser/testkit/deaf-host.ts";
import { prepareFlood } from "@hawser/testkit/flooding-host.ts";
import { allowedTimesGoal, tell } from "../figures.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ nats: 1 });

/** The times of calls that follow each other, until the work is done, in ms. */
async function callsDuring(caller: Caller, work: Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  const state = { isOver: false };
  void work.finally(() => (state.isOver = true)).catch(() => {});
  while (!state.isOver) {
    const since = performance.now();
    await caller.whoami({});
    times.push(performance.now() - since);
    await pause(10);
  }
  await work;
  return times;
}

function p99(unsorted: number[], what: string): number {
  const times = unsorted.toSorted((a, b) => a - b);
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))]!;
  const [median, high, max] = [at(0.5), at(0.99), times.at(-1)!].map((ms) => ms.toFixed(1));
  tell(`${what}: p50 ${median} ms, p99 ${high} ms, max ${max} ms, over ${times.length}`);
  return at(0.99);
}

scenario(
  "A6: a host that sends as fast as it can does not slow another organization's calls",
  [],
  async ({ world, caller, stranger }) => {
    using host = await startDeafHost(stranger, world.baseUrl);
    const { instanceId } = host;
    const text = `PUB host.${instanceId}.up.renew _INBOX.${instanceId}.a 2\r\n{}\r\n`;
    const order = { baseUrl: world.baseUrl, text, atOnce: 20_000, forMs: 8_200 };
    const flood = await prepareFlood(host, order);
    await callsDuring(caller, pause(1_000));
    const before = await callsDuring(caller, pause(4_000));
    const flooding = flood();
    const during = p99(await callsDuring(caller, flooding), "while a host floods");
    tell(`the host sent ${await flooding} messages`);
    const after = await callsDuring(caller, pause(4_000));
    const quiet = p99([...before, ...after], "quiet, before and after");
    assert.ok(during < 2 * quiet * allowedTimesGoal, `${during} ms, quiet ${quiet} ms`);
  },
);
