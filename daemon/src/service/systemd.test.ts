import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openState } from "../state/state.ts";
import { unitText } from "./systemd.ts";

const verify = (file: string, runtime: string) =>
  spawnSync("systemd-analyze", ["verify", "--user", "--man=no", file], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: runtime, XDG_RUNTIME_DIR: runtime },
  });

test(
  "systemd finds nothing to complain of in the unit",
  {
    skip:
      spawnSync("systemd-analyze", ["--version"]).status !== 0 &&
      "there is no systemd-analyze here",
  },
  (t) => {
    const directory = mkdtempSync(join(tmpdir(), "hawser-unit-"));
    t.after(() => rmSync(directory, { recursive: true, force: true }));
    const state = openState(directory);
    mkdirSync(join(directory, "bin"));
    writeFileSync(join(directory, "bin/hawserd"), "#!/bin/sh\n", { mode: 0o755 });
    const file = join(directory, "hawserd.service");
    const text = unitText(state);
    for (const line of ["KillMode=process", "Restart=always", "WantedBy=default.target"]) {
      assert.ok(text.split("\n").includes(line), line);
    }
    writeFileSync(file, text);
    const good = verify(file, directory);
    assert.deepEqual([good.status, good.stdout + good.stderr], [0, ""]);
    writeFileSync(file, text.replace("KillMode=process", "KilMode=process"));
    assert.match(verify(file, directory).stderr, /KilMode/, "it would have complained");
  },
);
