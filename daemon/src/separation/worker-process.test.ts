// One worker, with a small program in its place and without sudo.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { until } from "@hawser/testkit/until.ts";
import { createLog } from "../log.ts";
import { startWorker, type WorkerOptions } from "./worker-process.ts";

/** Answers calls as `handlers` says, and ends with its input. */
const program = (handlers: string) => `
const handlers = { begin: () => null, pid: () => process.pid, close: () => null, ...${handlers} };
const { createInterface } = require("node:readline");
createInterface({ input: process.stdin }).on("line", async (text) => {
  const { id, call, body, error } = JSON.parse(text);
  if (!call) return;
  const result = await handlers[call](body);
  if (id !== undefined) process.stdout.write(JSON.stringify({ id, result }) + "\\n");
}).on("close", () => handlers.end ? handlers.end() : process.exit());
`;

function start(handlers = "{}", more: Partial<WorkerOptions> = {}) {
  const counts = { launched: 0, ready: 0, ended: 0 };
  const noted: string[] = [];
  const worker = startWorker({
    of: { user: "one", state: "/nowhere" },
    program: [],
    handlers: () => ({ end: () => (counts.ended += 1) }),
    greeting: () => ({ hello: "you" }),
    onReady: () => (counts.ready += 1),
    log: createLog((line) => noted.push(line)),
    launch: () => {
      counts.launched += 1;
      return spawn(process.execPath, ["-e", program(handlers)], {
        stdio: ["pipe", "pipe", "pipe"],
      });
    },
    ...more,
  });
  return {
    worker,
    counts,
    noted,
    pid: async () => (await worker.call("pid", {})) as number,
    [Symbol.asyncDispose]: () => worker.stop({ endsAgents: false }),
  };
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("a call waits for the worker, which gets its greeting first", async () => {
  await using started = start("{ begin: (body) => (greeting = body, null), read: () => greeting }");
  assert.deepEqual(await started.worker.call("read", {}), { hello: "you" });
  assert.deepEqual(started.counts, { launched: 1, ready: 1, ended: 0 });
});

test("a killed worker is started again; what waited fails, and the next call waits for the new one", async () => {
  await using started = start("{ never: () => new Promise(() => {}) }");
  const first = await started.pid();
  const call = started.worker.call("never", {});
  process.kill(first, "SIGKILL");
  await assert.rejects(call, /has ended/);
  const second = await started.pid();
  assert.notEqual(second, first);
  assert.deepEqual(started.counts, { launched: 2, ready: 2, ended: 1 });
});

test("calls wait through a failed start, and fail if the worker does not come", async () => {
  let fails = true;
  const bad = "{ begin: () => process.exit(1) }";
  await using started = start("{}", {
    timing: { patienceMs: 3_000 },
    launch: () => {
      const handlers = fails ? bad : "{}";
      fails = false;
      return spawn(process.execPath, ["-e", program(handlers)], {
        stdio: ["pipe", "pipe", "pipe"],
      });
    },
  });
  assert.ok((await started.pid()) > 0);
  assert.match(started.noted.join(), /a worker did not start/);

  await using never = start(bad, { timing: { patienceMs: 200 } });
  await assert.rejects(never.pid(), /The worker of one does not run/);
});

test("a program that is missing does not end the daemon", async () => {
  await using started = start("{}", {
    timing: { patienceMs: 200 },
    launch: () => spawn("/no/such/program", [], { stdio: ["pipe", "pipe", "pipe"] }),
  });
  await assert.rejects(started.pid(), /does not run/);
});

test("stopping closes the work, ends the process and starts no other", async () => {
  const started = start(`{ close: (body) => (console.error(JSON.stringify(body)), null) }`);
  const pid = await started.pid();
  await started.worker.stop({ endsAgents: true });
  assert.equal(runs(pid), false);
  assert.deepEqual(started.counts, { launched: 1, ready: 1, ended: 1 });
  assert.match(started.noted.join(), /endsAgents.*true/);
  await assert.rejects(started.pid());
  started.worker.send("state", {});
});

test("stopping does not wait for ever for a worker that does not close, and kills it", async () => {
  const stays = "{ close: () => new Promise(() => {}), end: () => setTimeout(() => {}, 600_000) }";
  const kill = async (_of: unknown, pid: number) => void process.kill(pid, "SIGKILL");
  const started = start(stays, { kill, timing: { stopMs: 100 } });
  const pid = await started.pid();
  await started.worker.stop({ endsAgents: false });
  assert.match(started.noted.join(), /a worker did not close.*a worker does not end/s);
  await until("it has ended", () => !runs(pid));
});
