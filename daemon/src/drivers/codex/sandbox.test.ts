// What the permission to run a command means with codex (decision 0036).
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import type { Place } from "@hawser/testkit/conformance/bench.ts";
import { createRepository } from "@hawser/testkit/git-repository.ts";
import { never, startSession } from "@hawser/testkit/conformance/recording.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench();
});
after(() => bench[Symbol.asyncDispose]());

async function askTo(command: string, more: object = {}, place: Place = {}) {
  const recording = await startSession(bench, place);
  const call = { tool: "exec_command", input: { cmd: command, ...more } };
  await recording.prompt([{ calls: [call] }, { text: "Done." }]);
  const request = await recording.untilType("request");
  assert.ok("permission" in request.asked);
  const answer = async (permission: "once" | "reject") => {
    await recording.session.answer(request.key, { permission }, never);
    await recording.untilType("turn_ended");
    assert.equal(recording.of("request").length, 1);
  };
  return { ...request.asked.permission, answer };
}

test("a command that the policy does not list needs permission even inside the sandbox", async () => {
  const { title, answer } = await askTo("touch inside.txt");
  assert.equal(title, "Run a command, in the sandbox");
  await answer("reject");
  assert.ok(!existsSync(join(bench.directory, "inside.txt")));
});

test("an allowed command stays in the sandbox; leaving it is a request of its own, with its reason", async () => {
  // Not below the directories for temporary files, which commands may write to.
  const outside = join(bench.home, "outside.txt");
  const recording = await startSession(bench);
  const run = (more: object) => ({
    tool: "exec_command",
    input: { cmd: `touch ${outside}`, ...more },
  });
  const escalated = { sandbox_permissions: "require_escalated" };
  await recording.prompt([
    { calls: [run({})] },
    { calls: [run({ ...escalated, justification: "I must." })] },
    { calls: [run(escalated)] },
    { text: "Done." },
  ]);
  const nextAsked = async (count: number) => {
    const isNext = () => recording.of("request").length === count;
    await recording.until(`request ${count}`, isNext);
    const { key, asked, rule } = recording.of("request").at(-1)!;
    assert.ok("permission" in asked);
    const answer = (permission: "once" | "reject") =>
      recording.session.answer(key, { permission }, never);
    return { title: asked.permission.title, rule, answer };
  };
  const first = await nextAsked(1);
  assert.equal(first.title, "Run a command, in the sandbox");
  await first.answer("once");
  const second = await nextAsked(2);
  assert.ok(!existsSync(outside), "the sandbox stopped the allowed command");
  await second.answer("once");
  const leaving = await nextAsked(3);
  assert.equal(leaving.title, "Run a command outside the sandbox: I must.");
  assert.equal(leaving.rule, "leaving the sandbox needs permission");
  await leaving.answer("reject");
  await (await nextAsked(4)).answer("once");
  const unexplained = await nextAsked(5);
  assert.match(unexplained.title, /possibly outside the sandbox/);
  assert.ok(!existsSync(outside), "a rejected command does not run");
  await unexplained.answer("once");
  await recording.untilType("turn_ended");
  assert.ok(existsSync(outside));
});

test("a command in the sandbox reaches no network", async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const policy = { allowedCommands: ["curl *"], outsideWorktree: "ask" as const };
  const recording = await startSession(bench, { policy });
  const cmd = `curl --silent --max-time 5 http://127.0.0.1:${port}/`;
  await recording.play([{ calls: [{ tool: "exec_command", input: { cmd } }] }, { text: "Done." }]);
  assert.deepEqual(recording.of("request"), []);
  assert.equal(connections, 0);
  server.close();
});

test("a command writes temporary files to a directory of its session, and not to the host's", async () => {
  // A directory below /tmp would hide that /tmp is writable.
  const folder = mkdtempSync("/var/tmp/hawser-codex-");
  const ofHost = `/tmp/hawser-codex-${process.pid}`;
  try {
    const directory = createRepository(join(folder, "repository"));
    const cmd = `mktemp > made; env > variables; touch ${ofHost} ../beside.txt`;
    const policy = { allowedCommands: [cmd], outsideWorktree: "ask" as const };
    const recording = await startSession(bench, { directory, policy });
    await recording.play([
      { calls: [{ tool: "exec_command", input: { cmd } }] },
      { text: "Done." },
    ]);
    assert.deepEqual(recording.of("request"), []);
    assert.ok(!existsSync(ofHost), "the command wrote to the host's /tmp");
    assert.ok(!existsSync(join(folder, "beside.txt")));
    const own = join(bench.folder, "tmp", recording.place.sessionId);
    const made = readFileSync(join(directory, "made"), "utf8").trim();
    assert.equal(dirname(made), own);
    assert.ok(existsSync(made));
    assert.equal(statSync(own).mode & 0o777, 0o700);
    // The variables of the whole process are set too.
    const variables = readFileSync(join(directory, "variables"), "utf8");
    assert.match(variables, /^HAWSER_AGENT=/m);
    assert.match(variables, new RegExp(`^HAWSER_SESSION=${recording.place.sessionId}$`, "m"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(ofHost, { force: true });
  }
});

/** A repository with an untracked file. */
function makeUntidy(): { directory: string; file: string } {
  const directory = bench.makeDirectory();
  const file = join(directory, "untracked.txt");
  writeFileSync(file, "mine\n");
  return { directory, file };
}

const mayClean = { allowedCommands: ["git clean *"], outsideWorktree: "ask" as const };

test("an allowed command needs permission in another directory, which is shown and part of the rule", async () => {
  const { directory, file } = makeUntidy();
  const place = { policy: mayClean };
  const { title, detail, alwaysRules, answer } = await askTo(
    "git clean -fdx",
    { workdir: directory },
    place,
  );
  assert.match(title, /^Run a command outside the session's directory,/);
  assert.equal(detail, `in "${directory}": git clean -fdx`);
  assert.deepEqual(alwaysRules, [detail]);
  await answer("reject");
  assert.ok(existsSync(file));
});

test("a policy that refuses work outside the directory refuses commands there without asking", async () => {
  const { directory, file } = makeUntidy();
  const policy = { ...mayClean, outsideWorktree: "refuse" as const };
  const recording = await startSession(bench, { policy });
  const clean = (workdir: string) => ({
    tool: "exec_command",
    input: { cmd: "git clean -fdx", workdir },
  });
  await recording.play([
    { calls: [clean(directory)] },
    { calls: [clean("../" + basename(directory))] },
    { text: "Done." },
  ]);
  assert.deepEqual(recording.of("request"), []);
  assert.ok(existsSync(file));
});

test("an allowed command runs without asking in a subdirectory; other commands show the subdirectory", async () => {
  const { directory, file } = makeUntidy();
  mkdirSync(join(directory, "deep"));
  const kept = join(directory, "deep", "untracked.txt");
  writeFileSync(kept, "mine\n");
  const recording = await startSession(bench, { directory, policy: mayClean });
  const run = (cmd: string) => ({ tool: "exec_command", input: { cmd, workdir: "deep" } });
  await recording.prompt([
    { calls: [run("git clean -fdx")] },
    { calls: [run("touch made.txt")] },
    { text: "Done." },
  ]);
  const { key, asked } = await recording.untilType("request");
  assert.ok(existsSync(file) && !existsSync(kept));
  assert.ok("permission" in asked);
  assert.equal(asked.permission.detail, 'in "deep": touch made.txt');
  assert.deepEqual(asked.permission.alwaysRules, ['in "deep": touch made.txt']);
  await recording.session.answer(key, { permission: "reject" }, never);
  await recording.untilType("turn_ended");
});
