import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";

test("processes that ask at the same time never get the same port", async () => {
  const program = `
    const { freePort } = await import("./free-port.ts");
    const ports = await Promise.all(Array.from({ length: 100 }, freePort));
    console.log(JSON.stringify(ports));
    // Stays until all have their ports, as a part that still starts.
    process.stdin.resume();
  `;
  const started = Array.from({ length: 4 }, () => {
    const options = { cwd: import.meta.dirname, timeout: 60_000 };
    const run = promisify(execFile)(
      process.execPath,
      ["--input-type=module", "-e", program],
      options,
    );
    return { run, child: run.child };
  });
  const first = started.map(
    ({ child }) => new Promise<unknown>((resolve) => child.stdout!.once("data", resolve)),
  );
  const own = await Promise.all(Array.from({ length: 100 }, freePort));
  await Promise.all(first);
  for (const { child } of started) child.stdin!.end();
  const others = await Promise.all(started.map(async ({ run }) => (await run).stdout));
  const all = [...own, ...others.flatMap((text) => JSON.parse(text) as number[])];
  assert.equal(all.length, 500);
  assert.equal(new Set(all).size, 500);
});
