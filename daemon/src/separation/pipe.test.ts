// Calls between two processes: what each side gets to know, and what a hostile side cannot do.
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { BlobRefused } from "../blobs/lane.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { ToldToWait } from "../link/up-call.ts";
import { createLog, silentLog } from "../log.ts";
import { openPipe, type Handlers, type Limits } from "./pipe.ts";

/** Two connected sides. */
function pair(left: Handlers, right: Handlers, limits?: Limits) {
  const [there, back] = [new PassThrough(), new PassThrough()];
  return {
    left: openPipe(back, there, left, silentLog, limits),
    right: openPipe(there, back, right, silentLog, limits),
  };
}

/** A side whose other end is written and read by the test. */
function alone(handlers: Handlers, limits?: Limits, log = silentLog) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const lines: string[] = [];
  output.on("data", (text: Buffer) => lines.push(...text.toString().trim().split("\n")));
  const pipe = openPipe(input, output, handlers, log, limits);
  const say = (...said: unknown[]) =>
    input.write(said.map((each) => `${JSON.stringify(each)}\n`).join(""));
  const answers = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { pipe, input, output, say, answers };
}

const never = () => new Promise<never>(() => {});
const settled = () => wait(20);

test("both sides call each other, also at the same time and in any order of the answers", async () => {
  const { left, right } = pair(
    { add: ({ a, b }: { a: number; b: number }) => a + b },
    {
      async slow({ ms }: { ms: number }) {
        await wait(ms);
        return { ms };
      },
      nothing: () => undefined,
    },
  );
  const answered = await Promise.all([
    left.call("slow", { ms: 30 }),
    left.call("slow", { ms: 1 }),
    right.call("add", { a: 1, b: 2 }),
    left.call("nothing", {}),
  ]);
  assert.deepEqual(answered, [{ ms: 30 }, { ms: 1 }, 3, null]);
});

test("a text may contain every character, also those that end a line elsewhere", async () => {
  const { left } = pair({}, { echo: ({ text }: { text: string }) => text });
  const text = `a\r\nb\u2028c\u2029d\u0085e\0f\r😀${"ä".repeat(100_000)}`;
  assert.equal(await left.call("echo", { text }), text);
});

test("errors keep their class, and what belongs to it", async () => {
  const errors: Error[] = [
    new CommandRefusal("invalid_input", "This is wrong.", "title"),
    new CommandRefusal("not_found", "It is not here."),
    new BlobRefused("quota_exceeded", "It is full."),
    new ToldToWait({ refused: "rate_limited", retryAfterMs: 1234 }),
    new TypeError("A bug."),
  ];
  const { left } = pair(
    {},
    {
      fail: ({ place }: { place: number }) => {
        throw errors[place]!;
      },
    },
  );
  for (const [place, error] of errors.entries()) {
    const thrown = await left.call("fail", { place }).catch((each: unknown) => each);
    assert.ok(thrown instanceof Error);
    assert.equal(thrown.message, error.message);
    assert.deepEqual({ ...thrown }, { ...error });
    const kept = [CommandRefusal, BlobRefused, ToldToWait].find((each) => error instanceof each);
    assert.equal(thrown.constructor, kept ?? Error);
  }
});

test("a call that does not exist is refused, also one that every object has", async () => {
  const { left } = pair({}, {});
  for (const name of ["missing", "constructor", "__proto__", "toString"]) {
    await assert.rejects(left.call(name, {}), /There is no call/);
  }
});

test("a call without an answer fails in time, and a late answer harms nothing", async () => {
  const { pipe, say, answers } = alone({});
  await assert.rejects(pipe.call("slow", {}, 20), /did not answer in time \(slow\)/);
  say({ id: 1, result: "late" }, { id: 99, result: "never asked" });
  await settled();
  assert.equal(pipe.isClosed(), false);
  const call = pipe.call("next", {});
  await settled();
  say({ id: answers().at(-1)!["id"], result: "ok" });
  assert.equal(await call, "ok");
});

test("the end of the other side rejects all that waits, and every later call", async () => {
  const { pipe, input } = alone({});
  const waiting = [pipe.call("a", {}), pipe.call("b", {})];
  input.end();
  for (const { status } of await Promise.allSettled(waiting)) assert.equal(status, "rejected");
  await pipe.closed;
  await assert.rejects(pipe.call("c", {}), /has ended/);
  pipe.send("d", {});
  assert.equal(pipe.isClosed(), true);
});

test("closing one side closes the other one", async () => {
  const { left, right } = pair({}, { wait: never });
  const call = left.call("wait", {});
  right.close();
  await assert.rejects(call, /has ended/);
  await Promise.all([left.closed, right.closed]);
});

test("a broken stream closes the pipe, and is no error of the process", async () => {
  for (const broken of ["input", "output"] as const) {
    const side = alone({});
    const call = side.pipe.call("a", {});
    side[broken].destroy(new Error("EPIPE"));
    await assert.rejects(call, /has ended/);
    await side.pipe.closed;
  }
});

test("something that is no message closes the pipe", async () => {
  for (const text of ["hello", "7", "null", '"text"', "{", ""]) {
    const { pipe, input } = alone({});
    const call = pipe.call("a", {});
    input.write(`${text}\n`);
    await assert.rejects(call, /no message/, text);
  }
});

test("a line may have three MiB, and one without an end is not read for ever", async () => {
  const limit = 3 * 2 ** 20;
  const { pipe, input, answers } = alone({ length: ({ text }: { text: string }) => text.length });
  const line = (length: number) => {
    const frame = JSON.stringify({ id: 1, call: "length", body: { text: "" } }).length;
    return JSON.stringify({ id: 1, call: "length", body: { text: "x".repeat(length - frame) } });
  };
  const largest = line(limit);
  assert.equal(largest.length, limit);
  input.write(`${largest}\n`);
  await wait(100);
  assert.equal(answers().length, 1);
  for (let i = 0; i < 4; i++) input.write("x".repeat(2 ** 20));
  await pipe.closed;
  assert.equal(input.destroyed, true);
});

test("the largest command of NATS is passed on, also one of quotation marks alone", async () => {
  const { input, answers } = alone({ command: ({ text }: { text: string }) => text.length });
  const text = JSON.stringify('"'.repeat(2 ** 19 - 1));
  assert.equal(text.length, 2 ** 20);
  input.write(`${JSON.stringify({ id: 1, call: "command", body: { text } })}\n`);
  await wait(100);
  assert.deepEqual(answers(), [{ id: 1, result: 2 ** 20 }]);
});

test("calls that wait are limited in number; those that are answered at once are not", async () => {
  const limits = { calls: 5, bytes: 2 ** 20, line: 2 ** 20 };
  const quick = alone({ quick: () => 1 }, limits);
  quick.say(...Array.from({ length: 1_000 }, (_, id) => ({ id, call: "quick" })));
  quick.say(...Array.from({ length: 1_000 }, () => ({ call: "quick" })));
  for (let i = 0; i < 100 && quick.answers().length < 1_000; i++) await settled();
  await settled();
  assert.deepEqual([quick.pipe.isClosed(), quick.answers().length], [false, 1_000]);

  const slow = alone({ slow: never }, limits);
  slow.say(...Array.from({ length: 5 }, (_, id) => ({ id, call: "slow" })));
  await settled();
  assert.equal(slow.pipe.isClosed(), false);
  const call = slow.pipe.call("a", {});
  slow.say({ call: "slow" });
  await assert.rejects(call, /too many calls/);
});

test("calls that wait are limited in size", async () => {
  const { pipe, say } = alone({ slow: never }, { calls: 100, bytes: 1_000, line: 2 ** 20 });
  say({ call: "slow", body: { text: "x".repeat(400) } });
  await settled();
  assert.equal(pipe.isClosed(), false);
  say({ call: "slow", body: { text: "x".repeat(600) } });
  await pipe.closed;
});

test("a side that asks and never reads the answers is not answered for ever", async () => {
  const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 1_000 })];
  let asked = 0;
  const pipe = openPipe(
    input,
    output,
    {
      large() {
        asked += 1;
        return "x".repeat(10_000);
      },
    },
    silentLog,
    { calls: 5, bytes: 2 ** 20, line: 2 ** 20 },
  );
  for (let id = 1; id <= 1_000; id++) input.write(`${JSON.stringify({ id, call: "large" })}\n`);
  await pipe.closed;
  assert.ok(asked < 20, `${asked} answers`);
});

test("a failed call that nobody waits for is noted", async () => {
  const noted: string[] = [];
  const log = createLog((line) => noted.push(line));
  const { say, pipe, answers } = alone(
    {
      fail: () => {
        throw new Error("no");
      },
    },
    undefined,
    log,
  );
  say({ call: "fail" });
  await settled();
  assert.match(noted.join(), /a call of another process failed/);
  assert.deepEqual([answers(), pipe.isClosed()], [[], false]);
});

test("a long error message is shortened, whichever side it comes from", async () => {
  const { pipe, say, answers } = alone({});
  const call = pipe.call("a", {});
  say({ id: 1, error: { message: "x".repeat(1_000_000) } });
  await assert.rejects(call, ({ message }: Error) => message.length === 2_000);
  say({ id: 7, call: "y".repeat(1_000_000) });
  await settled();
  const { error } = answers().at(-1) as { error: { message: string } };
  assert.equal(error.message, `There is no call ${"y".repeat(100)}.`);
});
