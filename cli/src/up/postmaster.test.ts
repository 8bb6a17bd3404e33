import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { awaitPostmaster, isPostmasterOf, readPidFile } from "./postmaster.ts";

function makeCluster(t: TestContext): string {
  const cluster = mkdtempSync(join(tmpdir(), "hawser-cluster-"));
  t.after(() => rmSync(cluster, { recursive: true, force: true }));
  return cluster;
}

const writePid = (cluster: string, pid: number) =>
  writeFileSync(join(cluster, "postmaster.pid"), `${pid}\n${cluster}\n1\n0\n\n\n\nready   \n`);

test("a living process of another program is not signalled, and its number is removed", async (t) => {
  const cluster = makeCluster(t);
  // The arguments of this other process contain the cluster's path.
  const stranger = spawn("sleep", ["300"], {
    argv0: `sleep -D ${cluster}`,
    stdio: "ignore",
  });
  t.after(() => stranger.kill("SIGKILL"));
  await once(stranger, "spawn");
  writePid(cluster, stranger.pid!);
  assert.equal(isPostmasterOf(stranger.pid!, cluster), false);
  await awaitPostmaster(cluster, 50);
  assert.equal(existsSync(join(cluster, "postmaster.pid")), false);
  assert.equal(stranger.exitCode ?? stranger.signalCode, null);
});

test("the file of a process that has ended stays: PostgreSQL checks it itself", async (t) => {
  const cluster = makeCluster(t);
  const { pid } = spawnSync("true");
  writePid(cluster, pid);
  await awaitPostmaster(cluster, 50);
  assert.deepEqual(readPidFile(cluster), { pid, isReady: true });
});

test("a PostgreSQL of this cluster is waited for, and told to stop", async (t) => {
  const cluster = makeCluster(t);
  const own = spawn("sleep", ["300"], {
    argv0: `/usr/bin/postgres -D ${cluster} -c x=y`,
    stdio: "ignore",
  });
  t.after(() => own.kill("SIGKILL"));
  const ended = once(own, "exit");
  await once(own, "spawn");
  writePid(cluster, own.pid!);
  assert.equal(isPostmasterOf(own.pid!, cluster), true);
  assert.equal(isPostmasterOf(own.pid!, `${cluster}-other`), false);
  await awaitPostmaster(cluster, 100);
  assert.deepEqual(await ended, [null, "SIGINT"]);
});

test("a file that is being written is not read", (t) => {
  const cluster = makeCluster(t);
  assert.equal(readPidFile(cluster), undefined);
  writeFileSync(join(cluster, "postmaster.pid"), "");
  assert.equal(readPidFile(cluster), undefined);
});
