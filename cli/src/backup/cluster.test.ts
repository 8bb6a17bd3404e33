import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startOf } from "@hawser/daemon/state/running.ts";
import { until } from "@hawser/testkit/until.ts";

test("a server whose owner is killed is interrupted until it ends, although it loses the first signal", async (t) => {
  const bin = mkdtempSync(join(tmpdir(), "hawser-bin-"));
  t.after(() => rmSync(bin, { recursive: true }));
  const begun = join(bin, "begun");
  // PostgreSQL ignores the signal, too, until it has read its settings.
  writeFileSync(
    join(bin, "postgres"),
    `#!${process.execPath}
     let isReady = false;
     process.on("SIGINT", () => isReady && process.exit(0));
     require("node:fs").writeFileSync(${JSON.stringify(begun)}, String(process.pid));
     setTimeout(() => (isReady = true), 1_000);
     setInterval(() => {}, 1_000);`,
  );
  writeFileSync(join(bin, "psql"), "#!/bin/sh\nexit 1\n");
  for (const name of ["postgres", "psql"]) chmodSync(join(bin, name), 0o755);
  const owner = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { startCluster } from ${JSON.stringify(import.meta.resolve("./cluster.ts"))};
       await startCluster({ bin: ${JSON.stringify(bin)}, major: 17 }, ${JSON.stringify(join(bin, "data"))});`,
    ],
    { stdio: "inherit" },
  );
  await until("the server has begun", () => existsSync(begun) && readFileSync(begun).length > 0);
  const pid = Number(readFileSync(begun, "utf8"));
  owner.kill("SIGKILL");
  await until("the server has ended", () => startOf(pid) === undefined, 15_000);
  assert.equal(startOf(pid), undefined);
});
