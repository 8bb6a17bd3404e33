// What ten blobs at once cost a node in memory, beside one at a time.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { pairBlobHost } from "@hawser/testkit/blob-host.ts";
import { tell } from "../figures.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ nats: 1 });

const MiB = 1024 * 1024;
let directory: string;
before(() => void (directory = mkdtempSync(join(tmpdir(), "hawser-blob-memory-"))));
after(() => rmSync(directory, { recursive: true, force: true }));

const patience = () => ({ deadlineMs: 300_000, signal: new AbortController().signal });

scenario(
  "Ten uploads of 64 MiB at once, and as many downloads, cost the node little memory",
  [],
  async ({ caller, world }) => {
    const { pid, baseUrl } = world.nodes[0]!;
    const host = await pairBlobHost(caller, baseUrl);
    const memory = () => {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) * 1024;
    };
    const piece = randomBytes(MiB);
    // Ten blobs in the memory of one: each begins with its own number.
    const body = (n: number) =>
      Array.from({ length: 64 }, (_, i) =>
        i === 0 ? Buffer.concat([Buffer.of(n), piece.subarray(1)]) : piece,
      );
    const names = Array.from({ length: 10 }, (_, n) => {
      const hash = createHash("sha256");
      for (const part of body(n)) hash.update(part);
      return hash.digest("hex");
    });
    const idle = memory();
    // One at a time takes what the runtime lets garbage grow to; ten at once must not take ten times that.
    const { sha256: first } = await host.lane.put(randomBytes(64 * MiB), patience());
    await host.lane.get(first, join(directory, "first"), patience());
    const before = memory();
    tell(`64 MiB up and down: memory +${((before - idle) / 1e6).toFixed(0)} MB`);
    let most = before;
    const rises: number[] = [];
    const watch = setInterval(() => void (most = Math.max(most, memory())), 20);
    const timed = async (what: string, work: () => Promise<unknown>) => {
      most = memory();
      const started = performance.now();
      await work();
      const seconds = (performance.now() - started) / 1000;
      const rise = (most - before) / 1e6;
      tell(
        `10 × 64 MiB ${what} at once: ${(640 / seconds).toFixed(0)} MiB/s, memory +${rise.toFixed(0)} MB`,
      );
      rises.push(rise);
    };
    try {
      await timed("up", async () => {
        const replies = await Promise.all(
          names.map((sha256, n) =>
            host.ask("PUT", sha256, {
              headers: { "content-length": String(64 * MiB) },
              body: body(n),
            }),
          ),
        );
        assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201]);
      });
      await timed("down", () =>
        Promise.all(
          names.map((sha256, n) => host.lane.get(sha256, join(directory, `m${n}`), patience())),
        ),
      );
    } finally {
      clearInterval(watch);
    }
    assert.ok(rises[0]! < 64, `${rises[0]} MB`);
  },
);
