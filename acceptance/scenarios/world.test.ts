// `npm run world -- --json`: one line when everything is ready, and nothing left when it is stopped or
// killed.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createCaller } from "@hawser/testkit/caller.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";

interface WorldLine {
  baseUrl: string;
  organizations: { organizationId: string; keys: Record<"owner" | "viewer" | "member", string> }[];
  databaseUrl: string;
  hosts: { instanceId: string; policyPath: string }[];
  pids: { world: number; postgres: number; nodes: number[] };
}

const command = fileURLToPath(import.meta.resolve("@hawser/testkit/world-command.ts"));

/** Where a world of these tests keeps its files; the user PostgreSQL runs as must be able to enter. */
const folder = mkdtempSync(join(tmpdir(), "hawser-worlds-"));
chmodSync(folder, 0o755);
after(() => removeDirectory(folder));

async function start(...options: string[]): Promise<{ process: ChildProcess; line: WorldLine }> {
  // A world of its own: not in the cluster that the test run shares.
  const { HAWSER_TEST_POSTGRES: _shared, ...env } = process.env;
  const world = spawn(process.execPath, [command, "--json", ...options], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...env, TMPDIR: folder },
  });
  const [line] = (await once(world.stdout, "data")) as [Buffer];
  return { process: world, line: JSON.parse(line.toString()) as WorldLine };
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function untilGone({ pids: { world, postgres, nodes } }: WorldLine): Promise<void> {
  const all = Object.entries<number>({ world, postgres, ...nodes });
  const deadline = Date.now() + 10_000;
  for (;;) {
    const left = all.filter(([, pid]) => isAlive(pid)).map(([name]) => name);
    if (left.length === 0) return;
    assert.ok(Date.now() < deadline, `still running: ${left.join(", ")}`);
    await sleep(20);
  }
}

test("a world says in one line where it is and who may call it, and removes all it made", async () => {
  const { process: world, line } = await start("--nodes", "2");
  assert.deepEqual(Object.keys(line), [
    "baseUrl",
    "organizations",
    "databaseUrl",
    "hosts",
    "pids",
    "modelUrl",
  ]);
  assert.match(line.databaseUrl, /^postgres/);
  assert.match(readFileSync(line.hosts[0]!.policyPath, "utf8"), /^root = \//m);
  assert.equal(line.organizations.length, 2);
  assert.equal(line.pids.nodes.length, 2);
  const permissions = async (key: string) =>
    (await createCaller(line.baseUrl, key).whoami({})).permissions;
  for (const { keys } of line.organizations) {
    assert.equal((await permissions(keys.owner)).length, 8);
    assert.deepEqual(await permissions(keys.viewer), ["instances:view", "sessions:view"]);
    assert.equal((await permissions(keys.member)).length, 6);
  }
  const caller = createCaller(line.baseUrl, line.organizations[0]!.keys.owner);
  const { agents } = await caller.get_instance({ instanceId: line.hosts[0]!.instanceId });
  const installed = agents.filter((agent) => agent.installed).map(({ kind }) => kind);
  assert.deepEqual(installed, ["opencode", "claude_code", "codex"]);
  world.kill("SIGTERM");
  await once(world, "exit");
  assert.equal(world.exitCode, 0);
  await untilGone(line);
  assert.deepEqual(readdirSync(folder), []);
});

test("a world that is killed takes its processes with it", async () => {
  const { process: world, line } = await start();
  world.kill("SIGKILL");
  await untilGone(line);
});
