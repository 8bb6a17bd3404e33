// The commands that look at a daemon or set it up, called as a person calls them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { makeStartId } from "../drivers/start-id.ts";
import { openJournal } from "../journal/journal.ts";
import { openSealing, readFingerprint } from "../identities/sealing.ts";
import { pairHost } from "../link/doors.ts";
import { startSmallControlPlane } from "@hawser/testkit/small-control-plane.ts";
import { until } from "@hawser/testkit/until.ts";
import { logPathOf, openLogFile } from "../log-file.ts";
import { daemonVersion } from "../release.ts";
import { openState, separationPath } from "../state/state.ts";
import { lookAtLink } from "./status.ts";

const main = mainFile("daemon");

function open(t: TestContext, path = process.env["PATH"]) {
  const directory = mkdtempSync(join(tmpdir(), "hawser-commands-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const state = openState(join(directory, "state"));
  const start = (args: string[]) => {
    const env = { PATH: path, HOME: directory, HAWSER_HOME: state.directory };
    const child = spawn(process.execPath, [main, ...args], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    t.after(() => stopProcess(child, "SIGKILL"));
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const code = new Promise<number | null>((resolve) => child.once("close", resolve));
    return { child, code, output: () => output };
  };
  const call = async (...args: string[]) => {
    const { code, output } = start(args);
    return { code: await code, output: output() };
  };
  return { directory, state, call, start };
}

test("roots are listed with what is in them, added and removed", async (t) => {
  const { directory, call } = open(t);
  assert.match((await call("roots")).output, /no roots.*hawserd roots add/);
  mkdirSync(join(directory, "src/widget/.git"), { recursive: true });
  const added = await call("roots", "add", join(directory, "src/"));
  assert.deepEqual(added, { code: 0, output: `${directory}/src  (1 repository)\n` });
  const missing = await call("roots", "add", join(directory, "nowhere"));
  assert.equal(missing.code, 1);
  assert.match(missing.output, /nowhere does not exist\./);
  assert.match((await call("status")).output, new RegExp(`Roots: {3}${directory}/src\n`));
  assert.equal((await call("roots", "remove", join(directory, "src"))).code, 0);
  assert.equal((await call("roots", "remove", join(directory, "src"))).code, 1);
  assert.equal((await call("roots", "dance")).code, 2);
});

test("status prints the fingerprint of the key for secrets, and pairing removes the key", async (t) => {
  const { state, call } = open(t);
  assert.doesNotMatch((await call("status")).output, /Key for linked secrets/);
  await openSealing(state.sealingKeyPath).publicKey();
  const fingerprint = readFingerprint(state.sealingKeyPath)!;
  const { output } = await call("status");
  assert.ok(output.includes(`Key for linked secrets: ${fingerprint}\n`), output);
  await using control = await startSmallControlPlane();
  await pairHost(state, control.baseUrl, "hwp_0123456789abcdef0123456789abcdef");
  assert.equal(readFingerprint(state.sealingKeyPath), undefined);
});

test("status counts the agents that outlive the daemon, each once, and prints JSON for programs", async (t) => {
  const { state, call } = open(t);
  const read = async () => JSON.parse((await call("status", "--json")).output) as object;
  const quiet = {
    isOnline: false,
    sentence: "This host is not paired.",
    warning: null,
    version: daemonVersion,
    daemonPid: null,
    agents: 0,
  };
  assert.deepEqual(await read(), quiet);
  const elsewhere = mkdtempSync(join(tmpdir(), "hawser-other-state-"));
  t.after(() => rmSync(elsewhere, { recursive: true, force: true }));
  for (const HAWSER_AGENT of [makeStartId(state.directory), makeStartId(elsewhere)]) {
    // Two processes of one agent.
    const child = spawn("sh", ["-c", "sleep 600 & wait"], {
      env: { PATH: process.env["PATH"], HAWSER_AGENT },
      detached: true,
      stdio: "ignore",
    });
    t.after(() => process.kill(-child.pid!, "SIGKILL"));
  }
  assert.deepEqual(await read(), { ...quiet, agents: 1 });
  assert.match((await call("status")).output, /\nAgents: {2}1 running; they continue when/);
});

test("a wrong call is answered with what to write, and makes no directory", async (t) => {
  const { directory, call } = open(t);
  const unknown = await call("status", "--yaml");
  assert.equal(unknown.code, 2);
  assert.match(
    unknown.output,
    /^Unknown option '--yaml'\. Usage: hawserd status \[--json\]\n.*--help\n$/,
  );
  assert.match((await call("roots", "add")).output, /"add" or "remove" and a directory\. Usage: /);
  const nowhere = join(directory, "nowhere");
  const missing = await call("status", "--state", nowhere);
  assert.equal(missing.code, 1);
  assert.match(missing.output, /^There is no state directory .*nowhere\. Run the install command/);
  assert.ok(!readdirSync(directory).includes("nowhere"));
  writeFileSync(nowhere, "");
  const taken = await call("roots", "--state", join(nowhere, "state"));
  assert.equal(taken.code, 1);
  assert.match(
    taken.output,
    /^The state directory .* cannot be made: .*\. Choose another with --state\.\n$/,
  );
});

test("a policy file that cannot be understood is not edited over", async (t) => {
  const { directory, state, call } = open(t);
  writeFileSync(state.policyPath, "dance = yes\n");
  for (const words of [[], ["add", directory]]) {
    const { code, output } = await call("roots", ...words);
    assert.deepEqual([code, /line 1: there is no setting "dance"/.test(output)], [1, true]);
  }
  assert.equal(readFileSync(state.policyPath, "utf8"), "dance = yes\n");
});

test("logs shows the last lines as a person reads them, and follows them into the next file", async (t) => {
  const { state, call, start } = open(t);
  assert.match((await call("logs")).output, /There is nothing in .*hawserd\.log yet/);
  const write = openLogFile(logPathOf(state), 400);
  const event = (n: number) =>
    write(`${JSON.stringify({ at: "12:00", level: "warn", event: `event ${n}`, n, why: null })}\n`);
  for (let n = 1; n <= 5; n++) event(n);
  assert.equal(
    (await call("logs", "-n", "2")).output,
    "12:00  WARN  event 4  n=4\n12:00  WARN  event 5  n=5\n",
  );
  assert.equal((await call("logs", "-n", "many")).code, 2);
  const following = start(["logs", "-f", "-n", "0"]);
  await until("it follows", () => {
    event(0);
    return following.output() !== "";
  });
  for (let n = 100; n < 120; n++) {
    event(n);
    await until(`line ${n} is shown`, () => following.output().includes(`n=${n}\n`));
  }
});

test("A19: logs, status and doctor escape control characters of what they print", async (t) => {
  const { directory, state, call } = open(t);
  const hostile = "a\u001b]0;title\u0007\u009b31m\r\n2026 WARN  forged\u202egnp\u200b\u2028b";
  const shown = String.raw`a\u001b]0;title\u0007\u009b31m\u000d\u000a2026 WARN  forged\u202egnp\u200b\u2028b`;
  const write = openLogFile(logPathOf(state), 10_000);
  write(`${JSON.stringify({ at: "12:00", level: "info", event: hostile, why: hostile })}\n`);
  write("no JSON \u001b[2J\n");
  assert.equal(
    (await call("logs")).output,
    `12:00        ${shown}  why=${shown}\nno JSON ${String.raw`\u001b[2J`}\n`,
  );
  const root = join(directory, "a\u001b[31m\u202ed");
  mkdirSync(root);
  writeFileSync(state.policyPath, `root = ${root}\n`);
  for (const command of ["status", "doctor", "roots"]) {
    const { output } = await call(command);
    assert.ok(output.includes(String.raw`a\u001b[31m\u202ed`), output);
    // eslint-disable-next-line no-control-regex -- these are what must not be printed
    assert.doesNotMatch(output, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/, command);
  }
  const failed = await call("pair", "--server", "http://\u001b[2Jx", "--token", "hwp_x");
  assert.match(failed.output, /^"http:\/\/\\u001b\[2Jx" is not the https:/);
});

test("doctor names each problem with its cure, and finds nothing wrong with a host that is well", async (t) => {
  const { directory, state, call, start } = open(t);
  const before = await call("doctor");
  assert.equal(before.code, 1);
  for (const words of [
    /PROBLEM {2}The policy file .* is missing.*\n.*roots add/,
    /PROBLEM {2}This host is not paired\n.*token/,
  ]) {
    assert.match(before.output, words);
  }
  await using control = await startSmallControlPlane();
  await pairHost(state, control.baseUrl, "hwp_0123456789abcdef0123456789abcdef");
  await control.startFabric();
  await call("roots", "add", directory);
  const stopped = await call("doctor");
  assert.match(stopped.output, /PROBLEM .*The daemon is not running\.\n\s+Start it:/);
  chmodSync(join(state.directory, "credentials.json"), 0o644);
  assert.match(
    (await call("doctor")).output,
    /PROBLEM {2}Others can read credentials\.json\n.*chmod 600/,
  );
  chmodSync(join(state.directory, "credentials.json"), 0o600);
  const daemon = start(["run", "--quiet"]);
  // Read here, without a process for each look: on a busy machine a process takes seconds to start.
  await until("it is online", () => lookAtLink(state).isOnline, 30_000);
  assert.equal((await call("status")).code, 0);
  const well = await call("doctor");
  assert.equal(well.code, 0, well.output);
  assert.match(well.output, /Nothing is wrong\.\n$/);
  assert.equal(daemon.output(), "", "quiet: the log is in its file");
  assert.match(readFileSync(logPathOf(state), "utf8"), /"the daemon runs"/);
  await control[Symbol.asyncDispose]();
  assert.match((await call("doctor")).output, /PROBLEM .*cannot be reached: .*\n.*curl -v/);
});

test("doctor shows an outdated git, and a policy file that is missing or cannot be read", async (t) => {
  const bin = mkdtempSync(join(tmpdir(), "hawser-git-"));
  t.after(() => rmSync(bin, { recursive: true, force: true }));
  const { directory, state, call } = open(t, `${bin}:${process.env["PATH"]}`);
  const git = (version: string) =>
    writeFileSync(join(bin, "git"), `#!/bin/sh\necho git version ${version}\n`, { mode: 0o755 });
  git("2.39.5");
  const missing = (await call("doctor")).output;
  assert.match(missing, /note {5}Git 2\.39\.5 .* is older than 2\.43\.7.*\n.*apt-get install git/);
  assert.match(
    missing,
    /PROBLEM {2}The policy file .*policy is missing.*\n.*hawserd roots add DIR/,
  );
  git("2.30.0");
  writeFileSync(state.policyPath, `root = ${directory}\ndance = yes\n`);
  const unreadable = (await call("doctor")).output;
  assert.match(unreadable, /PROBLEM {2}Git 2\.30\.0 .*\n.*No repository is used/);
  assert.match(unreadable, /PROBLEM {2}The policy file .* cannot be read.* line 2: .*\n +Edit \//);
  // The users of a separated host read it too.
  writeFileSync(state.policyPath, `root = ${directory}\n`);
  chmodSync(state.policyPath, 0o600);
  const own = { user: "own", state: "/own" };
  writeFileSync(separationPath(state.directory), JSON.stringify({ own, people: [] }));
  const closed = (await call("doctor")).output;
  assert.match(closed, /PROBLEM {2}The policy file .* users of the agents\n.*chmod 644/);
});

test("status and doctor warn while the control plane does not find the host", async (t) => {
  const { directory, state, call, start } = open(t);
  await using control = await startSmallControlPlane();
  await pairHost(state, control.baseUrl, "hwp_0123456789abcdef0123456789abcdef");
  await control.startFabric();
  await call("roots", "add", directory);
  control.answers.hello = () => ({ refused: "unknown_host", retryAfterMs: 100 });
  start(["run", "--quiet"]);
  await until("its owner is warned", () => lookAtLink(state).warning !== undefined, 30_000);
  // Both at once: the daemon's waits between hellos grow meanwhile.
  const [status, doctor] = await Promise.all([call("status"), call("doctor")]);
  assert.equal(status.code, 1);
  assert.match(
    status.output,
    /Warning: The control plane does not find this host\. .*keeps its cred/,
  );
  assert.equal(doctor.code, 1);
  assert.match(
    doctor.output,
    /PROBLEM .*its link has been connecting.*\n.*does not find this host/,
  );
  assert.ok(state.readCredentials());
  control.answers = {};
  // The limit of a wait is 2 s, then 4, 8 and 16 s.
  await until("it is online", () => lookAtLink(state).isOnline, 30_000);
  const after = await call("status");
  assert.deepEqual([after.code, after.output.includes("Warning: ")], [0, false]);
});

test("uninstall removes what is the daemon's own, and keeps whatever may hold work", async (t) => {
  const { state, call } = open(t);
  const { directory } = state;
  for (const name of [
    "bin",
    "daemon",
    "node",
    "agents",
    "clones",
    "log",
    "homes",
    "tmp",
    "parked",
    "drafts",
  ])
    mkdirSync(join(directory, name));
  writeFileSync(join(directory, "parked/work.txt"), "an agent's work");
  state.writeStatus({});
  writeFileSync(state.sealingKeyPath, "{}");
  openJournal(state.journalPath("ins_done")).close();
  const undelivered = openJournal(state.journalPath("ins_waiting"));
  undelivered.log.append("ses_1", { sessionUpdate: "plan" });
  undelivered.close();
  const { code, output } = await call("uninstall", "--yes");
  assert.equal(code, 0, output);
  assert.match(
    output,
    /Kept in .* because it may hold work: drafts, journal-ins_waiting\.blobs, journal-ins_waiting\.sqlite, parked/,
  );
  assert.deepEqual(readdirSync(directory).sort(), [
    "drafts",
    "journal-ins_waiting.blobs",
    "journal-ins_waiting.sqlite",
    "parked",
  ]);
  assert.equal(readFileSync(join(directory, "parked/work.txt"), "utf8"), "an agent's work");
});
