// The daemon as a process of its own: paired, run, killed and stopped the way an operator does it.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Hello } from "@hawser/host-protocol";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { startSmallControlPlane } from "@hawser/testkit/small-control-plane.ts";
import { until } from "@hawser/testkit/until.ts";
import { openState } from "./state/state.ts";

const main = mainFile("daemon");

function call(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

/** Pairs without blocking this process, which answers the pairing. */
async function pair(server: string, state: string) {
  const token = "hwp_0123456789abcdef0123456789abcdef";
  const args = ["--server", server, "--token", token, "--state", state];
  const child = spawn(process.execPath, [main, "pair", ...args]);
  const [code] = (await once(child, "exit")) as [number];
  assert.equal(code, 0);
}

function run(t: TestContext, state: string) {
  const child = spawn(process.execPath, [main, "run", "--state", state], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  t.after(() => stopProcess(child, "SIGKILL"));
  return { child, log: () => log };
}

async function open(t: TestContext) {
  const control = await startSmallControlPlane();
  t.after(() => control[Symbol.asyncDispose]());
  const state = join(control.directory, "state");
  await pair(control.baseUrl, state);
  await control.startFabric();
  return { control, state, instanceId: openState(state).readCredentials()!.instanceId };
}

const linked = (control: { calls: (call: "hello") => unknown[] }, times: number) =>
  until("the daemon said hello", () => control.calls("hello").length >= times);

test("a paired daemon runs until SIGTERM, says good-bye and leaves with 0", async (t) => {
  const { control, state, instanceId } = await open(t);
  assert.equal(statSync(state).mode & 0o777, 0o700);
  assert.equal(statSync(join(state, "credentials.json")).mode & 0o777, 0o600);
  assert.match(call("status", "--state", state).stdout, /not running/);
  const daemon = run(t, state);
  await until("the daemon is online", () => daemon.log().includes('"online"'));
  assert.match(call("status", "--state", state).stdout, /link has been online since/);
  const second = call("run", "--state", state);
  assert.equal(second.status, 4);
  assert.match(second.stderr, /^The daemon runs already: version /);
  assert.equal((await control.ask(instanceId, "refresh_host_facts")) !== undefined, true);
  daemon.child.kill("SIGTERM");
  const [code, signal] = (await once(daemon.child, "exit")) as [number, string];
  assert.deepEqual([code, signal], [0, null]);
  const { bootId } = control.calls("hello")[0]!.body as Hello;
  assert.deepEqual(control.calls("bye")[0]!.body, { bootId });
  assert.match(call("status", "--state", state).stdout, /not running/);
  const { seed, token } = openState(state).readCredentials()!;
  for (const line of daemon.log().trim().split("\n")) {
    assert.equal(typeof (JSON.parse(line) as { event: string }).event, "string");
    assert.ok(!line.includes(seed) && !line.includes(token) && !line.includes("hwp_"), line);
  }
});

test("SIGTERM ends a daemon that cannot reach anybody, too", async (t) => {
  const { control, state } = await open(t);
  control.answers.upgrade = () => 503;
  const daemon = run(t, state);
  await until("it tries", () => control.upgrades.refused > 0);
  daemon.child.kill("SIGTERM");
  assert.deepEqual(await once(daemon.child, "exit"), [0, null]);
});

/** The processes of a running daemon. */
function pidsOf(state: string): { pid: number; supervisorPid: number } {
  return openState(state).readStatus() as { pid: number; supervisorPid: number };
}

test("a daemon that is killed is started again by its supervisor", async (t) => {
  const { control, state } = await open(t);
  const daemon = run(t, state);
  await until("the daemon is online", () => daemon.log().includes('"online"'));
  const { pid, supervisorPid } = pidsOf(state);
  assert.deepEqual([supervisorPid, pid === supervisorPid], [daemon.child.pid, false]);
  process.kill(pid, "SIGKILL");
  await linked(control, 2);
  await until("another process serves", () => pidsOf(state).pid !== pid);
  assert.equal(daemon.child.exitCode, null);
});

test("a daemon whose supervisor is killed says good-bye and ends", async (t) => {
  const { control, state } = await open(t);
  const daemon = run(t, state);
  await until("the daemon is online", () => daemon.log().includes('"online"'));
  const { pid } = pidsOf(state);
  await stopProcess(daemon.child, "SIGKILL");
  await until("it says good-bye", () => control.calls("bye").length === 1);
  await until("it has ended", () => !existsSync(`/proc/${pid}`));
});

test("a daemon killed and started again runs no command twice, and is another boot of the same machine", async (t) => {
  const { control, state, instanceId } = await open(t);
  const commandId = randomUUID();
  const outcomes: unknown[] = [];
  for (let start = 1; start <= 3; start++) {
    const { child } = run(t, state);
    await linked(control, start);
    await until("the command is answered", () =>
      control.ask(instanceId, "refresh_host_facts", commandId).then(
        (outcome) => outcomes.push(outcome) > 0,
        () => false,
      ),
    );
    process.kill(child.pid!, "SIGSTOP");
    process.kill(pidsOf(state).pid, "SIGKILL");
    await stopProcess(child, "SIGKILL");
  }
  assert.deepEqual(outcomes, [outcomes[0], outcomes[0], outcomes[0]]);
  const hellos = control.calls("hello").map(({ body }) => body as Hello);
  const different = (name: "machineId" | "journalId" | "bootId") =>
    new Set(hellos.map((hello) => hello[name])).size;
  assert.deepEqual([different("machineId"), different("journalId")], [1, 1]);
  assert.equal(different("bootId"), 3);
});

test("a daemon that is ordered to forget exits with 0 and is no longer paired", async (t) => {
  const { control, state, instanceId } = await open(t);
  const daemon = run(t, state);
  await until("the daemon is online", () => daemon.log().includes('"online"'));
  assert.deepEqual(await control.askToForget(instanceId), { result: {} });
  const [code] = (await once(daemon.child, "exit")) as [number];
  assert.equal(code, 0);
  assert.equal(openState(state).readCredentials(), undefined);
  assert.equal(call("run", "--state", state).status, 3);
});

test("the daemon listens on nothing (T23)", async (t) => {
  const { state } = await open(t);
  const daemon = run(t, state);
  await until("the daemon is online", () => daemon.log().includes('"online"'));
  const { pid, supervisorPid } = pidsOf(state);
  assert.deepEqual(listeningSockets(pid), []);
  assert.deepEqual(listeningSockets(supervisorPid), []);
});

function listeningSockets(pid: number): string[] {
  const inodes = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return [];
    }
  });
  assert.ok(inodes.length > 0, "it has its link, or its channel to the daemon");
  const fields = (file: string) =>
    readFileSync(`/proc/${pid}/net/${file}`, "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
  const listening = [
    ...["tcp", "tcp6"].flatMap((file) =>
      fields(file)
        .filter((line) => line[3] === "0A")
        .map((line) => line[9]),
    ),
    ...["udp", "udp6"].flatMap((file) => fields(file).map((line) => line[9])),
    // A listening socket of the local kind has this flag.
    ...fields("unix")
      .filter((line) => line[3] === "00010000")
      .map((line) => line[6]),
  ];
  return inodes.filter((inode) => listening.includes(inode));
}

test("what makes no sense is answered with how to do it", async (t) => {
  const { state } = await open(t);
  const cases: [args: string[], status: number, sentence: RegExp][] = [
    [[], 2, /A command is missing/],
    [["dance"], 2, /There is no command "dance"/],
    [["pair", "--state", state], 2, /pair needs --server and --token/],
    [["run", "--nonsense"], 2, /Unknown option/],
    [["run", "--state", join(state, "empty")], 3, /This host is not paired/],
    [["pair", "--server", "http://hawser.example", "--token", "x", "--state", state], 1, /https/],
    [["pair", "--server", "http://127.0.0.1:9", "--token", "x", "--state", state], 1, /reached/],
  ];
  for (const [args, status, sentence] of cases) {
    const answered = call(...args);
    assert.equal(answered.status, status, args.join(" "));
    assert.match(answered.stderr, sentence);
  }
});
