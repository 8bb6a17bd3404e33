import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { startOf } from "@hawser/daemon/state/running.ts";
import { until } from "@hawser/testkit/until.ts";
import { keep } from "./keeper.ts";

const environment = { PATH: process.env["PATH"]! };
const run = (program: string, ...args: string[]) =>
  keep({ program, args, environment, directory: "/", output: "pipe" });

/** Ignores SIGINT until it has started, as every program that a shell starts in the background. */
const node = (script: string) => run(process.execPath, "-e", script);

test("a kept program's output and exit code are returned", async () => {
  const { code, stdout, stderr } = await run("sh", "-c", "echo out; echo err >&2; exit 3").ended;
  assert.deepEqual({ code, stdout, stderr }, { code: 3, stdout: "out\n", stderr: "err\n" });
});

test("stop sends SIGINT, and waits for the program's end", async () => {
  const kept = node("process.on('SIGINT', () => process.exit(7)); setInterval(() => {}, 1000)");
  const pid = await kept.pid;
  await kept.stop(20_000);
  assert.equal(startOf(pid), undefined);
});

test("a program that does not stop is killed", async () => {
  const kept = run("sh", "-c", "trap '' INT; while :; do sleep 0.2; done");
  const pid = await kept.pid;
  // Before that, it does not ignore SIGINT yet.
  const hasBegun = () => readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("sh\0");
  await until("the program has begun", hasBegun);
  await kept.stop(500);
  assert.equal(startOf(pid), undefined);
  assert.equal((await kept.ended).code, 137);
});

test("a program ends when its owner is killed, also if it has just begun", async () => {
  for (const waitMs of [0, 300]) {
    const owner = spawn(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        `import { keep } from ${JSON.stringify(import.meta.resolve("./keeper.ts"))};
         const kept = keep({ program: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"],
           environment: process.env, directory: "/", output: "pipe" });
         console.log(await kept.pid);
         setInterval(() => {}, 1000);`,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const [line] = (await once(owner.stdout.setEncoding("utf8"), "data")) as [string];
    const pid = Number(line);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    assert.notEqual(startOf(pid), undefined);
    owner.kill("SIGKILL");
    await until("the program has ended", () => startOf(pid) === undefined, 15_000);
  }
});

test("a program ends when its keeper is killed", async () => {
  const kept = node("setInterval(() => {}, 1000)");
  const pid = await kept.pid;
  const parent = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))![1]);
  process.kill(parent, "SIGKILL");
  await kept.ended;
  assert.equal(startOf(pid), undefined);
});
