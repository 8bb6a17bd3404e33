// The supervisor with small programs in the daemon's place, where what matters is processes: what a
// daemon has started outlives the daemon, its update, and its supervisor.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { until } from "@hawser/testkit/until.ts";
import {
  chooseProgram,
  installedProgram,
  keepVersions,
  removeUnfinished,
  switchTo,
} from "./versions.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-supervise-"));
after(() => removeDirectory(directory));
let places = 0;

/** Behaves as a daemon does towards its supervisor, and starts an agent that is to outlive it. */
const program = (version: string, next: string | undefined) => `
  import { spawn } from "node:child_process";
  import { appendFileSync, existsSync, writeFileSync } from "node:fs";
  const state = process.argv[process.argv.indexOf("--state") + 1];
  const note = (what) => appendFileSync(state + "/noted", "${version} " + what + "\\n");
  const say = (word) => process.send({ say: word, version: ${JSON.stringify(next)} });
  if (!existsSync(state + "/agent")) {
    const agent = spawn("sleep", ["300"], { detached: true, stdio: "ignore" });
    agent.unref();
    writeFileSync(state + "/agent", String(agent.pid));
  }
  note("started");
  process.on("disconnect", () => process.exit(0));
  process.on("SIGTERM", () => process.exit(0));
  process.on("message", ({ say: word }) => {
    note(word);
    if (word === "take") say("online");
    if (word === "hand over") say("quiet");
    if (word === "leave") process.exit(0);
  });
  if (process.argv.includes("--standby")) say("ready");
  else if (${JSON.stringify(next)}) say("start");
`;

function place(state: string, version: string, next?: string): void {
  const folder = join(state, "daemon", version);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "hawserd.mjs"), program(version, next));
  symlinkSync(process.execPath, join(folder, "node"));
}

/** A paired state directory; nothing of what its credentials say is ever asked. */
function makeState(): string {
  const state = join(directory, String(places++));
  mkdirSync(state, { mode: 0o700 });
  const credentials = { serverUrl: "", instanceId: "ins_1", seed: "", token: "", commandKey: "" };
  writeFileSync(join(state, "credentials.json"), JSON.stringify(credentials));
  return state;
}

function run(t: TestContext, state: string) {
  const main = mainFile("daemon");
  const child = spawn(process.execPath, [main, "run", "--quiet", "--state", state], {
    stdio: "ignore",
  });
  t.after(() => stopProcess(child));
  return child;
}

const isAlive = (pid: number) => existsSync(`/proc/${pid}`);
const noted = (state: string) =>
  existsSync(join(state, "noted")) ? readFileSync(join(state, "noted"), "utf8") : "";

test("an agent outlives an update of the daemon and the restart of its supervisor", async (t) => {
  const state = makeState();
  place(state, "5.0.0", "5.1.0");
  place(state, "5.1.0");
  switchTo(state, "5.0.0");
  const first = run(t, state);
  await until("the new version serves", () => noted(state).includes("5.0.0 leave"), 20_000);
  const agent = Number(readFileSync(join(state, "agent"), "utf8"));
  t.after(() => process.kill(agent, "SIGKILL"));
  assert.ok(isAlive(agent), "it outlives the update");
  assert.equal(readlinkSync(join(state, "daemon/current")), "5.1.0");

  await stopProcess(first, "SIGKILL");
  const second = run(t, state);
  await until(
    "it is started again",
    () => noted(state).split("5.1.0 started").length === 3,
    20_000,
  );
  assert.ok(isAlive(agent), "it outlives the supervisor");
  await stopProcess(second);
  assert.equal(second.exitCode, 0);
  assert.ok(isAlive(agent), "it outlives the service");
});

test("the version to start is the pointer's, or one's own if that is newer or the other is not there", () => {
  const state = makeState();
  const own = { version: "1.5.0", node: process.execPath, script: ["main.ts"] };
  assert.equal(chooseProgram(state, own), own, "no pointer");
  for (const version of ["1.4.0", "1.10.0"]) place(state, version);
  switchTo(state, "1.4.0");
  assert.equal(chooseProgram(state, own), own, "an older one");
  switchTo(state, "1.10.0");
  assert.deepEqual(chooseProgram(state, own), installedProgram(state, "1.10.0"));
  switchTo(state, "9.9.9");
  assert.equal(chooseProgram(state, own), own, "one that is not there");
});

test("old versions go, with the Nodes that only they used, and nothing else", () => {
  const state = makeState();
  for (const [version, node] of [
    ["1.0.0", "24.0.0"],
    ["1.1.0", "24.0.0"],
    ["1.2.0", "24.1.0"],
    ["0.9.0", "22.0.0"],
  ] as const) {
    mkdirSync(join(state, "daemon", version), { recursive: true });
    mkdirSync(join(state, "node", node), { recursive: true });
    symlinkSync(`../../node/${node}/node`, join(state, "daemon", version, "node"));
  }
  mkdirSync(join(state, "daemon/notes"));
  switchTo(state, "1.2.0");
  keepVersions(state, ["1.1.0", "1.2.0"]);
  const left = (folder: string) => readdirSync(join(state, folder)).toSorted();
  assert.deepEqual(left("daemon"), ["1.1.0", "1.2.0", "current", "notes"]);
  assert.deepEqual(left("node"), ["24.0.0", "24.1.0"]);
});

test("what an interrupted update has left goes, and nothing else", () => {
  const state = makeState();
  for (const folder of ["daemon/1.0.0", "daemon/1.1.0.part", "daemon/notes", "node/24.0.0.part"]) {
    mkdirSync(join(state, folder), { recursive: true });
  }
  switchTo(state, "1.0.0");
  symlinkSync("1.1.0", join(state, "daemon/current.next"));
  removeUnfinished(state);
  const left = (folder: string) => readdirSync(join(state, folder)).toSorted();
  assert.deepEqual(left("daemon"), ["1.0.0", "current", "notes"]);
  assert.deepEqual(left("node"), []);
});
