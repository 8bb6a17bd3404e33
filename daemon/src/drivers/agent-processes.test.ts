// Finding processes by the start id in their environment.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { listAgentProcesses, parentOf, startIdOf } from "./agent-processes.ts";

test("a process is found by its environment until it has ended", async () => {
  const startId = `start-${process.pid}`;
  const cwd = realpathSync(tmpdir());
  const child = spawn("sleep", ["60"], {
    cwd,
    env: { PATH: process.env["PATH"], HAWSER_AGENT: startId, HAWSER_SESSION: "session-1" },
  });
  await once(child, "spawn");
  const found = listAgentProcesses().filter((each) => each.startId === startId);
  assert.deepEqual(found, [{ pid: child.pid, startId, sessionId: "session-1", directory: cwd }]);
  assert.equal(startIdOf(child.pid!), startId);
  assert.equal(parentOf(child.pid!), process.pid);
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.equal(startIdOf(child.pid!), undefined);
  assert.ok(!listAgentProcesses().some((each) => each.startId === startId));
});
