// The shell text that codex runs before each tool call, without codex.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { gateCommand, openGate, type Gatekeeper, type HookInput } from "./gate.ts";

const input = { tool_name: "Bash", tool_input: { command: "echo 'a\nb' \\ é" } };

async function runHook(variable: string | undefined, given: string = JSON.stringify(input)) {
  const environment = variable === undefined ? {} : { HAWSER_GATE: variable };
  const hook = spawn("/bin/bash", ["--norc", "-c", gateCommand], {
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // The hook may end before it has read everything.
  hook.stdin.on("error", () => {});
  hook.stdin.end(given);
  const ended = new Promise<number | null>((resolve) => hook.once("close", resolve));
  const [out, error, code] = await Promise.all([text(hook.stdout), text(hook.stderr), ended]);
  return { out, error, code };
}

async function runWith(keeper: Gatekeeper, given?: string) {
  const gate = await openGate(keeper);
  try {
    return await runHook(gate.variable, given);
  } finally {
    gate.close();
  }
}

test("a call runs if the daemon allows it, and the daemon sees the whole call", async () => {
  let seen: HookInput | undefined;
  const ended = await runWith(async (call) => {
    seen = call;
    return undefined;
  });
  assert.deepEqual(ended, { out: "", error: "", code: 0 });
  assert.deepEqual(seen, input);
  const large = { ...input, tool_input: { command: "x".repeat(2_000_000) } };
  assert.equal((await runWith(async () => undefined, JSON.stringify(large))).code, 0);
});

test("a refused call is refused with its reason, in one line", async () => {
  const ended = await runWith(async () => "Not\nthis\tone.");
  assert.deepEqual(ended, { out: "", error: "Not this one.\n", code: 2 });
  const empty = await runWith(async () => "");
  assert.deepEqual(empty, { out: "", error: "Refused.\n", code: 2 });
});

/** A daemon that does something else than it should with the connection. */
async function runAgainst(serve: (socket: Socket) => void, secret = "secret") {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await runHook(`${(server.address() as AddressInfo).port} ${secret}`);
  } finally {
    server.close();
  }
}

test("A1: whatever goes wrong at the gate, the call is refused, with a text", async () => {
  const failures: [string, () => ReturnType<typeof runHook>][] = [
    ["no variable", () => runHook(undefined)],
    ["nobody listens", () => runHook("1 secret")],
    ["not a port", () => runHook("x secret")],
    ["the daemon fails", () => runWith(() => Promise.reject(new Error("broken")))],
    ["not JSON", () => runWith(async () => undefined, "{")],
    ["nothing", () => runWith(async () => undefined, "")],
    ["two lines", () => runWith(async () => undefined, '{\n"a":1}')],
    ["closed at once", () => runAgainst((socket) => socket.destroy())],
    [
      "closed without an answer",
      () => runAgainst((socket) => socket.once("data", () => socket.end())),
    ],
    [
      "half an answer",
      () => runAgainst((socket) => socket.once("data", () => socket.end("allow"))),
    ],
    [
      "another answer",
      () => runAgainst((socket) => socket.once("data", () => socket.end("allowed\n"))),
    ],
  ];
  for (const [name, run] of failures) {
    const { out, error, code } = await run();
    assert.deepEqual({ out, code }, { out: "", code: 2 }, name);
    assert.notEqual(error.trim(), "", name);
  }
  const gate = await openGate(async () => undefined);
  const [port] = gate.variable.split(" ");
  assert.equal((await runHook(`${port} wrong`)).code, 2, "a wrong secret");
  gate.close();
});

test("the daemon learns that a hook has ended, and a hook that the daemon has closed", async () => {
  const left = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const gate = await openGate((_call, gone) => {
    gone.addEventListener("abort", () => left.resolve());
    arrived.resolve();
    return new Promise(() => {});
  });
  const ended = runHook(gate.variable);
  await arrived.promise;
  gate.close();
  await left.promise;
  assert.equal((await ended).code, 2);
});
