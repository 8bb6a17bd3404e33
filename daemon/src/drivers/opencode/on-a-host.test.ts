// What the real opencode may not do on a host, and what the driver reports when opencode cannot work.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import {
  homeEnvironment,
  openOpencodeBench,
  type OpencodeBench,
} from "@hawser/testkit/opencode-bench.ts";
import { until } from "@hawser/testkit/until.ts";
import { silentLog } from "../../log.ts";
import { policy } from "@hawser/testkit/conformance/bench.ts";
import { never, startSession } from "@hawser/testkit/conformance/recording.ts";
import { AgentNotReady } from "../driver.ts";
import { createOpencodeDriver } from "./driver.ts";

const path = await agentProgram("opencode");
let bench: OpencodeBench;
before(async () => {
  process.env["HAWSER_TEST_SECRET"] = "not-for-agents";
  bench = await openOpencodeBench();
});
after(async () => {
  delete process.env["HAWSER_TEST_SECRET"];
  await bench[Symbol.asyncDispose]();
});

test("only the daemon's user can read the server's port and password, and the server refuses everyone else", async () => {
  await bench.driver().listModels(never);
  assert.equal(statSync(bench.stateFile).mode & 0o777, 0o600);
  const { port } = JSON.parse(readFileSync(bench.stateFile, "utf8")) as { port: number };
  for (const way of ["/global/health", "/session", "/"]) {
    const response = await fetch(`http://127.0.0.1:${port}${way}`);
    assert.equal(response.status, 401, way);
  }
});

test("an agent's commands see no secrets of the daemon or the server", async () => {
  const recording = await startSession(bench);
  await recording.prompt([{ calls: [bench.asking("env")] }, { text: "Seen." }]);
  const { key } = await recording.untilType("request");
  await recording.session.answer(key, { permission: "once" }, never);
  await recording.untilType("turn_ended");
  const end = recording.updates().find((update) => update.sessionUpdate === "tool_call_update");
  const text = JSON.stringify(end?.content);
  const { password } = JSON.parse(readFileSync(bench.stateFile, "utf8")) as { password: string };
  assert.match(text, /HAWSER_AGENT=/);
  assert.ok(!text.includes(password));
  assert.ok(!text.includes("not-for-agents"));
});

test("the project's notes reach the model", async () => {
  const directory = bench.makeDirectory();
  writeFileSync(join(directory, "AGENTS.md"), "Always say ahoy.");
  const recording = await startSession(bench, { directory });
  await recording.play([{ text: "Ahoy." }]);
  const asked = bench.model.requests.findLast(({ messages }) =>
    JSON.stringify(messages).includes("Always say ahoy."),
  );
  assert.ok(asked, "The notes were not in what the model was asked.");
});

test("every session has a title, so the model is not asked for one", async () => {
  const from = bench.model.requests.length;
  const recording = await startSession(bench, { title: null });
  await recording.play([{ text: "Nothing more." }]);
  assert.deepEqual(
    bench.model.requests.slice(from).map(({ kind }) => kind),
    ["scripted"],
  );
});

test("a change outside the directory needs permission, and the request shows the file and its content", async () => {
  const outside = join(bench.folder, "outside.txt");
  const recording = await startSession(bench);
  await recording.prompt([
    { calls: [{ tool: "write", input: { filePath: outside, content: "x" } }] },
    { text: "Not written." },
  ]);
  const request = await recording.untilType("request");
  assert.ok("permission" in request.asked);
  assert.equal(request.asked.permission.detail, `${outside}\n\nx`);
  assert.deepEqual(request.asked.permission.alwaysRules, []);
  await recording.session.answer(request.key, { permission: "reject" }, never);
  assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
  assert.equal(existsSync(outside), false);
});

test("a policy that refuses changes outside the directory refuses them without asking", async () => {
  const outside = join(bench.folder, "refused.txt");
  const write = { tool: "write", input: { filePath: outside, content: "x" } };
  const recording = await startSession(bench, {
    policy: { ...policy, outsideWorktree: "refuse" },
  });
  await recording.play([
    { calls: [write] },
    { calls: [bench.subAgent([{ calls: [write] }, { text: "Neither." }])] },
    { text: "Not written." },
  ]);
  assert.deepEqual(recording.of("request"), []);
  assert.equal(existsSync(outside), false);
});

test("a change through a link or of git's own files is asked about or refused, for every tool and agent", async () => {
  const directory = bench.makeDirectory();
  const far = join(bench.folder, "far");
  mkdirSync(far);
  symlinkSync(far, join(directory, "link"));
  symlinkSync(join(far, "nowhere.txt"), join(directory, "dangling.txt"));
  const write = (filePath: string) => ({ tool: "write", input: { filePath, content: "x" } });
  const hook = join(directory, ".git/hooks/pre-commit");
  const paths = ["link/x.txt", join(directory, "dangling.txt"), hook];
  const recording = await startSession(bench, { directory });
  await recording.prompt([
    ...paths.map((path) => ({ calls: [write(path)] })),
    { calls: [bench.subAgent([{ calls: [write("link/y.txt")] }, { text: "No." }])] },
    { calls: [write("plain.txt")] },
    { text: "Not written." },
  ]);
  const shown: (string | null)[] = [];
  while (recording.of("turn_ended").length === 0) {
    const { key, asked } = await recording.until("request or end", (event) => {
      if (event.type === "turn_ended") return { key: undefined, asked: undefined };
      return (
        event.type === "request" && recording.of("request").indexOf(event) === shown.length && event
      );
    });
    if (key === undefined) break;
    assert.ok("permission" in asked);
    shown.push(asked.permission.detail!.split("\n")[0]!);
    await recording.session.answer(key, { permission: "reject" }, never);
  }
  assert.deepEqual(shown, [join(far, "x.txt"), join(far, "nowhere.txt"), hook, join(far, "y.txt")]);
  assert.deepEqual([readdirSync(far), existsSync(hook)], [[], false]);
  assert.equal(readFileSync(join(directory, "plain.txt"), "utf8"), "x");

  const strict = await startSession(bench, {
    directory,
    policy: { ...policy, outsideWorktree: "refuse" },
  });
  await strict.play([{ calls: [write("link/z.txt")] }, { text: "Not written." }]);
  assert.deepEqual([strict.of("request"), readdirSync(far)], [[], []]);
});

test("a patch of several files is one change, and needs permission if one file is outside the directory", async () => {
  const file = join(bench.home, ".config/opencode/opencode.json");
  const settings = readFileSync(file, "utf8");
  // opencode offers models with this name a patch tool instead of a write tool.
  const model = { providerId: "stub", modelId: "gpt-5-stub" };
  writeFileSync(
    file,
    settings.replace('"stub-1": {', '"gpt-5-stub": { "tool_call": true }, "stub-1": {'),
  );
  await bench.killAgent();
  const directory = bench.makeDirectory();
  const elsewhere = join(bench.folder, "elsewhere");
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, join(directory, "link"));
  const patch = (path: string) => {
    const lines = [
      "*** Begin Patch",
      "*** Add File: plain.txt",
      "+x",
      `*** Add File: ${path}`,
      "+x",
    ];
    return { tool: "apply_patch", input: { patchText: [...lines, "*** End Patch"].join("\n") } };
  };
  const recording = await startSession(bench, { directory, model });
  await recording.prompt(
    [{ calls: [patch("link/x.txt")] }, { calls: [patch("other.txt")] }, { text: "Done." }],
    { model },
  );
  const { key } = await recording.untilType("request");
  await recording.session.answer(key, { permission: "reject" }, never);
  await recording.untilType("turn_ended");
  assert.equal(recording.of("request").length, 1);
  assert.deepEqual([readdirSync(elsewhere), existsSync(join(directory, "other.txt"))], [[], true]);
  writeFileSync(file, settings);
});

test("an allowed command with further shell syntax needs permission", async () => {
  const recording = await startSession(bench);
  await recording.prompt([{ calls: [bench.command("echo $(touch made.txt)")] }, { text: "No." }]);
  const { key } = await recording.untilType("request");
  await recording.session.answer(key, { permission: "reject" }, never);
  await recording.untilType("turn_ended");
  assert.equal(existsSync(join(recording.place.directory, "made.txt")), false);
});

test("an allowed command that runs in another directory needs permission", async () => {
  const mayTouch = { ...policy, allowedCommands: ["touch *"] };
  const recording = await startSession(bench, { policy: mayTouch });
  const command = "cd && touch moved.txt";
  await recording.prompt([{ calls: [bench.command(command)] }, { text: "No." }]);
  const { key, asked } = await recording.untilType("request");
  assert.ok("permission" in asked);
  assert.equal(asked.permission.detail, command);
  await recording.session.answer(key, { permission: "reject" }, never);
  await recording.untilType("turn_ended");
  assert.equal(existsSync(join(bench.home, "moved.txt")), false);
});

test("the directory that a command or a search names is shown and part of the rule", async () => {
  const directory = bench.makeDirectory();
  mkdirSync(join(directory, "deep"));
  // P21: a directory that is named like the command.
  mkdirSync(join(directory, "touch x"));
  const recording = await startSession(bench, { directory });
  const bash = (workdir: string) => ({
    tool: "bash",
    input: { command: "touch x", description: "x", workdir },
  });
  await recording.prompt([
    { calls: [bash("deep")] },
    { calls: [bash(bench.folder)] },
    { calls: [bash("touch x")] },
    { calls: [{ tool: "grep", input: { pattern: "secret", path: bench.folder } }] },
    { text: "No." },
  ]);
  const shown: (string | null)[] = [];
  for (let count = 0; count < 4; count++) {
    await until("it is asked", () => recording.of("request").length > count, 20_000);
    const request = recording.of("request")[count]!;
    assert.ok("permission" in request.asked);
    const { detail, alwaysRules } = request.asked.permission;
    shown.push(detail, ...alwaysRules);
    await recording.session.answer(request.key, { permission: "reject" }, never);
  }
  await recording.untilType("turn_ended");
  const outside = `in "${bench.folder}": `;
  assert.deepEqual(shown, [
    'in "deep": touch x',
    'bash: in "deep": touch x',
    `${outside}touch x`,
    `bash: ${outside}touch x`,
    'in "touch x": touch x',
    'bash: in "touch x": touch x',
    `${outside}secret`,
    `grep: ${outside}secret`,
  ]);
});

test("without a provider opencode is not logged in, and its public service does not count", async () => {
  const home = join(bench.folder, "bare-home");
  mkdirSync(home);
  const driver = createOpencodeDriver({
    program: () => ({ path, version: "1.18.33" }),
    stateFile: join(bench.folder, "bare", "opencode.json"),
    environment: homeEnvironment(home),
    log: silentLog,
  });
  try {
    const found = await driver.readState(never);
    assert.equal(found.installed, true);
    assert.equal(found.authenticated, false);
    assert.deepEqual(
      found.problems.map(({ code }) => code),
      ["not_logged_in"],
    );
  } finally {
    await driver.restart(never);
    await driver.close();
  }
});

test("a program that is missing or does not start is reported as a problem", async () => {
  const open = (program: { path: string; version: string } | undefined) =>
    createOpencodeDriver({
      program: () => program,
      stateFile: join(bench.folder, "none", "opencode.json"),
      log: silentLog,
    });
  const none = open(undefined);
  assert.deepEqual(
    (await none.readState(never)).problems.map(({ code }) => code),
    ["not_installed"],
  );
  await assert.rejects(none.listModels(never), AgentNotReady);
  await none.close();
  const broken = open({ path: "/bin/false", version: "0.0.0" });
  assert.deepEqual(
    (await broken.readState(never)).problems.map(({ code }) => code),
    ["does_not_start"],
  );
  await assert.rejects(broken.listModels(never), AgentNotReady);
  assert.deepEqual(broken.liveStarts(), []);
  await broken.close();
});
