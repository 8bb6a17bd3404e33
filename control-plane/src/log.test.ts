import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { test } from "node:test";
import { makeSecretText, secretPrefixes } from "./access/secret-text.ts";

test("a secret that reaches the log by mistake is blanked, at any depth and inside an error", () => {
  const key = makeSecretText("hwk_01m7eb5q0nezfvfwb0qzkah6a4");
  const token = makeSecretText("hwp");
  const program = `
    import { createLog } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    const log = createLog("info");
    log.info({ a: { b: { c: process.argv[1] } }, err: new Error("with " + process.argv[2]) }, "token " + process.argv[2]);`;
  const { stdout } = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", program, key, token],
    { encoding: "utf8" },
  );
  const line = JSON.parse(stdout) as {
    a: { b: { c: string } };
    err: { message: string };
    msg: string;
  };
  assert.equal(line.a.b.c, "hw_REDACTED");
  assert.equal(line.err.message, "with hw_REDACTED");
  assert.equal(line.msg, "token hw_REDACTED");
});

test("secrets of every kind are blanked, and each kind has a prefix of its own", () => {
  const prefixes = Object.values(secretPrefixes);
  assert.equal(new Set([...prefixes, "hwt"]).size, prefixes.length + 1);
  const secrets = prefixes.map((prefix) => makeSecretText(prefix));
  const program = `
    import { createLog } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    createLog("info").info(process.argv.slice(1).join(" "));`;
  const { stdout } = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", program, ...secrets],
    { encoding: "utf8" },
  );
  const { msg } = JSON.parse(stdout) as { msg: string };
  assert.equal(msg, secrets.map(() => "hw_REDACTED").join(" "));
});

test("a process whose log nobody reads any more ends all the same", async () => {
  const program = `
    import { createLog } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    const log = createLog("info");
    process.stdin.resume().on("end", () => {
      log.info("one");
      log.info("two");
      process.exit(0);
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["pipe", "pipe", "inherit"],
    timeout: 10_000,
    killSignal: "SIGKILL",
  });
  child.stdout.destroy();
  child.stdin.end();
  await once(child, "exit");
  assert.deepEqual([child.exitCode, child.signalCode], [0, null]);
});

test("a process whose log cannot be written goes on", () => {
  const program = `
    import { createLog } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    const log = createLog("info");
    for (let n = 0; n < 30_000; n++) log.info({ text: "x".repeat(1_000) }, "a line");
    console.error(process.memoryUsage().heapUsed < 25_000_000);`;
  const full = openSync("/dev/full", "w");
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
    stdio: ["ignore", full, "pipe"],
  });
  closeSync(full);
  assert.deepEqual([status, stderr], [0, "true\n"]);
});
