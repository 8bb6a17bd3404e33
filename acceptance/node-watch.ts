// Watches a node while a test works on it: its memory, and how long GET /healthz takes.
//
// A busy machine delays every answer, so the time that counts is the time for which the node's own
// thread ran between question and answer. On an idle machine it is the time that a caller waits.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import type { ControlPlaneNode } from "@hawser/testkit/control-plane-node.ts";
import { tell } from "./figures.ts";

const mostMemory = 400;
const slowestHealth = 100;

/** Resident memory of a process in MB. */
function megabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
}

/** For how many ms the main thread of a process has run. */
function runMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
}

/** Runs the work, prints what it cost the node, and fails if others would have noticed it. */
export async function watchNode<T>(
  { pid, baseUrl }: Pick<ControlPlaneNode, "pid" | "baseUrl">,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const seen = { memory: megabytes(pid), health: 0, waited: 0 };
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) {
      const started = performance.now();
      const ranBefore = runMs(pid);
      await askHealth(baseUrl, agent);
      seen.health = Math.max(seen.health, runMs(pid) - ranBefore);
      seen.waited = Math.max(seen.waited, performance.now() - started);
      seen.memory = Math.max(seen.memory, megabytes(pid));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  const before = seen.memory;
  try {
    return await work();
  } finally {
    over.abort();
    await watching;
    agent.destroy();
    tell(
      `${what}: memory ${before.toFixed(0)} → ${seen.memory.toFixed(0)} MB, ` +
        `/healthz at most ${seen.health.toFixed(0)} ms (${seen.waited.toFixed(0)} ms on this machine)`,
    );
    assert.ok(seen.memory < mostMemory, `${what}: ${seen.memory} MB`);
    assert.ok(seen.health < slowestHealth, `${what}: /healthz took ${seen.health} ms`);
  }
}

function askHealth(baseUrl: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    get(`${baseUrl}/healthz`, { agent, timeout: 60_000 }, (response) => {
      response.resume().once("end", resolve);
    }).once("error", reject);
  });
}
