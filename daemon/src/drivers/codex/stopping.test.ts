// No process of codex is left after an abort, or after the daemon was killed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import type { CodexErrand, CodexSaid } from "@hawser/testkit/codex-driver-process.ts";
import { until } from "@hawser/testkit/until.ts";
import { listAgentProcesses } from "../agent-processes.ts";
import { placeIn } from "@hawser/testkit/conformance/bench.ts";
import {
  assertWhole,
  never,
  Recording,
  startSession,
} from "@hawser/testkit/conformance/recording.ts";
import type { AgentEvent, AgentSession } from "../driver.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench({ idleMs: 500 });
});
after(() => bench[Symbol.asyncDispose]());

/** Processes whose command line contains the text. */
function processesWith(words: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(words);
      } catch {
        return false;
      }
    });
}

async function startSleeping(recording: Recording, seconds: number): Promise<void> {
  const command = `(sleep ${seconds} &); sleep ${seconds}`;
  await recording.prompt([{ calls: [bench.asking(command)] }, { text: "Never." }]);
  const { key } = await recording.untilType("request");
  await recording.session.answer(key, { permission: "once" }, never);
  await until("it sleeps", () => processesWith(`sleep\0${seconds}`).length === 2);
}

test("an abort ends the running command and its child processes", async () => {
  const recording = await startSession(bench);
  await startSleeping(recording, 7311);
  await recording.session.abort(never);
  const end = await recording.untilType("turn_ended");
  assert.equal(end.outcome, "aborted");
  await until("it is gone", () => processesWith("sleep\x007311").length === 0);
  const [call] = recording
    .updates()
    .filter((update) => update.sessionUpdate === "tool_call_update");
  assert.equal(call?.status, "failed");
  assert.equal(recording.events.at(-1)?.type, "turn_ended");
});

test("a command that outlives its turn is reported once as continuing", async () => {
  const recording = await startSession(bench);
  // The command waits for a file, so that it outlives its turn on a slow machine too.
  const waiting = "for i in $(seq 600); do [ -e go-on ] && break; sleep 0.1; done";
  const background = { cmd: `echo begun; ${waiting}; echo over`, yield_time_ms: 300 };
  await recording.prompt([
    { calls: [{ tool: "exec_command", input: background }] },
    { text: "Early." },
  ]);
  const { key } = await recording.until("request", (event) => {
    return event.type === "request" && event;
  });
  await recording.session.answer(key, { permission: "once" }, never);
  await recording.untilType("turn_ended");
  assert.equal(recording.events.at(-1)?.type, "turn_ended");
  // The command ends during the next turn.
  await writeFile(join(recording.place.directory, "go-on"), "");
  await recording.play([{ text: "Meanwhile.", delayMs: 1_500 }]);
  await until("it is over", () => processesWith("go-on").length === 0);
  assertWhole(recording);
  const ends = recording.updates().filter((update) => update.sessionUpdate === "tool_call_update");
  assert.equal(ends.length, 1);
  assert.match(JSON.stringify(ends), /The command continues in the background/);
  assert.equal(recording.events.at(-1)?.type, "turn_ended");
});

test("an abort ends a sub-agent that outlives the agent's own answer", async () => {
  const recording = await startSession(bench);
  const below = bench.subAgent([{ calls: [bench.asking("sleep 7314")] }, { text: "Never." }]);
  await recording.prompt([{ calls: [below] }, { text: "Above." }]);
  const { key } = await recording.untilType("request");
  await recording.session.answer(key, { permission: "once" }, never);
  await until("it sleeps", () => processesWith("sleep\x007314").length === 1);
  await recording.until("the agent's own answer", () => recording.messages().length === 1);
  assert.deepEqual(recording.of("turn_ended"), []);
  await recording.session.abort(never);
  assert.equal((await recording.untilType("turn_ended")).outcome, "aborted");
  await until("it is gone", () => processesWith("sleep\x007314").length === 0);
  const begun = recording.updates().filter((update) => update.sessionUpdate === "tool_call");
  const ends = recording.updates().filter((update) => update.sessionUpdate === "tool_call_update");
  assert.equal(ends.length, begun.length);
  await recording.play([{ text: "Next." }]);
  assert.deepEqual(recording.messages(), ["Above.", "Next."]);
});

test("an end stops the turn and its command", async () => {
  const recording = await startSession(bench);
  await startSleeping(recording, 7312);
  await recording.session.end(never);
  await until("it is gone", () => processesWith("sleep\x007312").length === 0);
});

test("an agent that is killed leaves no command running, inside or outside the sandbox", async () => {
  for (const sandbox_permissions of ["use_default", "require_escalated"]) {
    const recording = await startSession(bench);
    const input = { cmd: "setsid sleep 7315 & sleep 7316", sandbox_permissions };
    await recording.prompt([{ calls: [{ tool: "exec_command", input }] }, { text: "Never." }]);
    const { key } = await recording.untilType("request");
    await recording.session.answer(key, { permission: "once" }, never);
    if (sandbox_permissions === "require_escalated") {
      // Leaving the sandbox is a request of its own.
      const isNext = (event: AgentEvent) => event.type === "request" && event.key !== key && event;
      const leaving = await recording.until("the second request", isNext);
      await recording.session.answer(leaving.key, { permission: "once" }, never);
    }
    await until("it sleeps", () => processesWith("sleep\x007315").length > 0);
    await bench.killAgent();
    await recording.untilType("lost", 5_000);
    await until("it is gone", () => processesWith("sleep\x007315").length === 0, 2_000);
  }
});

test("a daemon that is killed leaves no process, and the session keeps its history", async () => {
  const place = placeIn(bench.makeDirectory());
  const steps = [{ text: "First.", calls: [bench.asking("sleep 7313")] }, { text: "Never." }];
  const program = await agentProgram("codex");
  const text = `Remember me. @@${JSON.stringify(steps)}`;
  const errand: CodexErrand = { program, home: bench.home, place, text };
  // Two processes must not share a home.
  await bench.driver().close();
  const file = fileURLToPath(import.meta.resolve("@hawser/testkit/codex-driver-process.ts"));
  const daemon = spawn(process.execPath, [file, JSON.stringify(errand)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const recording = new Recording(bench, place);
  recording.turnId = "turn-1";
  let startId: string | undefined;
  createInterface(daemon.stdout).on("line", (line) => {
    const said = JSON.parse(line) as CodexSaid;
    if ("event" in said) return recording.sink(said.event);
    recording.session = { handle: said.handle } as AgentSession;
    startId = said.startId;
  });
  await until("it sleeps", () => processesWith("sleep\x007313").length === 1);
  assert.ok(listAgentProcesses().some((each) => each.startId === startId));
  daemon.kill("SIGKILL");
  await until("nothing is left", () => {
    const left = listAgentProcesses().filter((each) => each.startId === startId);
    return left.length === 0 && processesWith("sleep\x007313").length === 0;
  });

  await bench.reopen();
  await recording.resume();
  const end = await recording.untilType("turn_ended");
  assert.equal(end.outcome, "interrupted");
  const updates = recording.updates().map(({ sessionUpdate }) => sessionUpdate);
  assert.deepEqual(updates, ["agent_message_chunk", "tool_call", "tool_call_update"]);
  await recording.play([{ text: "Second." }]);
  assert.deepEqual(recording.messages(), ["First.", "Second."]);
  assert.match(JSON.stringify(bench.model.requests.at(-1)!.body), /Remember me\..*First\./);
});

test("a process without sessions is ended", async () => {
  await bench.reopen();
  await bench.driver().listModels(never);
  const [startId] = bench.driver().liveStarts();
  assert.ok(listAgentProcesses().some((each) => each.startId === startId));
  await until("it has ended", () => bench.driver().liveStarts().length === 0);
  assert.ok(!listAgentProcesses().some((each) => each.startId === startId));
});
