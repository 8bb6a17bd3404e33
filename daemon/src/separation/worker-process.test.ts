// One worker, with a small program in its place and without sudo.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { until } from "@hawser/testkit/until.ts";
import { createLog } from "../log.ts";
import { endProcesses, startWorker, type WorkerOptions } from "./worker-process.ts";

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

test("stopping takes no longer than its limit, also if the worker does nothing at all", async () => {
  const kill = async (_of: unknown, pid: number) => void process.kill(pid, "SIGKILL");
  const started = start("{}", { kill, timing: { stopMs: 4_000 } });
  const pid = await started.pid();
  // As agents of the same user can.
  process.kill(pid, "SIGSTOP");
  const before = performance.now();
  await started.worker.stop({ endsAgents: false });
  const tookMs = performance.now() - before;
  assert.ok(tookMs >= 3_900 && tookMs < 7_500, `${tookMs} ms`);
  await until("it has ended", () => !runs(pid));
});

test("when all processes of the user were ended, calls reach the next worker", async () => {
  let pid = 0;
  await using started = start("{}", {
    endAll: async (user) => void (user === "one" && process.kill(pid, "SIGKILL")),
  });
  pid = await started.pid();
  await started.worker.endAll();
  assert.notEqual(await started.pid(), pid);
});

test("a worker that was ended on purpose many times is started again at once", async () => {
  let pid = 0;
  await using started = start("{}", {
    endAll: async () => void process.kill(pid, "SIGKILL"),
  });
  for (let ended = 0; ended < 8; ended++) {
    pid = await started.pid();
    await started.worker.endAll();
  }
  // Eight failures would make it wait for up to 30 seconds.
  const before = performance.now();
  await started.pid();
  const tookMs = performance.now() - before;
  assert.ok(tookMs < 3_000, `${tookMs} ms`);
});

test("what a worker does wrong is logged, but not without end", async () => {
  const calls =
    "Array.from({ length: 200 }, () => JSON.stringify({ call: 'none' }) + '\\n').join('')";
  await using started = start(`{ wrong: () => (process.stdout.write(${calls}), null) }`);
  await started.worker.call("wrong", {});
  await until("they are noted", () => started.noted.length >= 50);
  await started.pid();
  assert.equal(started.noted.filter((line) => line.includes("There is no call none")).length, 50);
});

test("a program that cannot be ended is left behind in time", async () => {
  const started = start("{}", {
    kill: () => new Promise(() => {}),
    timing: { stopMs: 100, killMs: 100 },
  });
  const pid = await started.pid();
  process.kill(pid, "SIGSTOP");
  try {
    await started.worker.stop({ endsAgents: false });
    assert.match(started.noted.join(), /a worker was not ended/);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});

test("that processes of a user could not be ended is not taken for success", async () => {
  await assert.rejects(endProcesses("hawser-no-such-user"), /could not be ended/);
});
