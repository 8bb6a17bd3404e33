// Abilities of the real Claude Code that differ from other kinds: slash commands, files named by their
// path, and reverting.
import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { writeClaudeCommand } from "@hawser/testkit/claude-home.ts";
import { openClaudeHost, type ClaudeHost } from "@hawser/testkit/claude-host.ts";
import { until } from "@hawser/testkit/until.ts";
import { listAgentProcesses } from "../agent-processes.ts";
import { placeIn, promptOf } from "@hawser/testkit/conformance/bench.ts";
import type { AgentEvent, Driver, Prompt } from "../driver.ts";
import type { Step } from "../scripted/script.ts";
import type { ClaudeSettings } from "./driver.ts";
import { configDirectory, findTranscript } from "./transcript.ts";

let host: ClaudeHost;
let directory: string;
const never = new AbortController().signal;
before(async () => {
  host = await openClaudeHost();
  directory = host.makeRepository();
});
after(() => host[Symbol.asyncDispose]());

const received = () => JSON.stringify(host.model.requests.at(-1)?.body["messages"]);
const command = (name: string, text = ""): Partial<Prompt> => ({
  task: { type: "command", name },
  text,
});

function open(t: TestContext, more?: Partial<ClaudeSettings>): Driver {
  const driver = host.openDriver(more);
  t.after(() => driver.close());
  return driver;
}

async function startPlaying(driver: Driver) {
  const events: AgentEvent[] = [];
  const place = placeIn(directory);
  const session = await driver.start(place, (event) => events.push(event), never);
  const ends = () => events.filter((event) => event.type === "turn_ended");
  return {
    place,
    session,
    events,
    said: () =>
      events.flatMap((event) =>
        event.type === "update" && event.update.sessionUpdate === "agent_message_chunk"
          ? [event.update.content.text]
          : [],
      ),
    play: async (steps: Step[], more: Partial<Prompt> = {}) => {
      const before = ends().length;
      await session.prompt(promptOf(steps, more), never);
      await until("the turn is over", () => ends().length > before, 30_000);
      return ends().at(-1)!;
    },
  };
}

test("commands are those of the program and of the host's user, without the withheld ones", async (t) => {
  const driver = open(t);
  writeClaudeCommand(directory, "theirs", "The repository's own.");
  const names = (await driver.abilities.commands!.list(directory, never)).map(({ name }) => name);
  for (const name of ["compact", "context", "init", "review"])
    assert.ok(names.includes(name), name);
  for (const name of ["clear", "config", "insights", "security-review", "theirs"]) {
    assert.ok(!names.includes(name), name);
  }
});

test("a command that was added after the session's process started can be run", async (t) => {
  const driver = open(t);
  const { play, said, session } = await startPlaying(driver);
  await play([{ text: "Before." }]);
  const hasLate = async () =>
    (await driver.abilities.commands!.list(directory, never)).some(({ name }) => name === "late");
  assert.ok(!(await hasLate()));
  writeClaudeCommand(host.home, "late", "Come late: $ARGUMENTS");
  assert.ok(await hasLate());
  const words = `at noon @@${JSON.stringify([{ text: "Late." }])}`;
  assert.equal((await play([], command("late", words))).outcome, "completed");
  assert.match(received(), /Before\..*Come late: at noon/);
  assert.deepEqual(said(), ["Before.", "Late."]);
  await assert.rejects(session.prompt(promptOf([], command("theirs")), never), /no command theirs/);
});

test("arguments of a command are not executed", async (t) => {
  const driver = open(t);
  const { play } = await startPlaying(driver);
  writeClaudeCommand(host.home, "repeat", "Say: $ARGUMENTS");
  const words = `!\`touch ${directory}/injected\` @@${JSON.stringify([{ text: "No." }])}`;
  await play([], command("repeat", words));
  assert.ok(!existsSync(join(directory, "injected")));
});

test("a command that does not call the model shows its output", async (t) => {
  const driver = open(t);
  const { play, said } = await startPlaying(driver);
  const asked = host.model.requests.length;
  assert.equal((await play([], command("context"))).outcome, "completed");
  assert.match(said()[0] ?? "", /Context Usage/);
  assert.equal(host.model.requests.length, asked);
});

test("the command compact condenses the history, can be stopped, and can be reverted", async (t) => {
  const driver = open(t);
  const { play, session, events } = await startPlaying(driver);
  await play([{ text: "The first answer." }], { messageId: "first" });
  await play([{ text: "The second answer.", delayMs: 3_000 }], { messageId: "second" });
  const asked = host.model.requests.length;
  const stopped = play([], command("compact"));
  await until("the summary is being made", () => host.model.requests.length > asked);
  await session.abort(never);
  assert.equal((await stopped).outcome, "aborted");
  assert.ok(!events.some(({ type }) => type === "compacted"));
  await play([{ text: "The third answer." }], { messageId: "third" });
  assert.equal((await play([], command("compact"))).outcome, "completed");
  assert.equal(events.filter(({ type }) => type === "compacted").length, 1);
  await play([{ text: "The fourth answer." }]);
  assert.match(received(), /being continued from a previous conversation/);
  assert.doesNotMatch(received(), /The first answer\./);
  assert.equal(await session.revert!("second", never), "reverted");
  await play([{ text: "The fifth answer." }]);
  assert.match(received(), /The first answer\./);
  assert.doesNotMatch(received(), /The (second|third|fourth) answer\.|being continued/);
});

test("a file that the model does not accept is named by its path, and the agent may read it without asking", async (t) => {
  const driver = open(t);
  const { play, events } = await startPlaying(driver);
  const [path, other] = [join(host.folder, "numbers"), join(host.folder, "other")];
  writeFileSync(path, "a line of many\n".repeat(10_000));
  writeFileSync(other, "not given");
  const read = (file_path: string) => ({ tool: "Read", input: { file_path, limit: 3 } });
  const attachments = [{ mime: "text/csv", filename: "numbers.csv", path }];
  await play([{ calls: [read(path)] }, { text: "Read." }], { attachments });
  assert.match(received(), /numbers\.csv.{0,200}It is at/);
  assert.ok(received().includes(path));
  assert.match(received(), /tool_result.*a line of many/);
  assert.deepEqual(
    events.filter(({ type }) => type === "request"),
    [],
  );
});

test("a session without a process can be reverted, and the reverted transcript is kept", async (t) => {
  const driver = open(t, { idleMs: 500 });
  const { place, session, play } = await startPlaying(driver);
  await play([{ text: "Stays." }], { messageId: "one" });
  await play([{ text: "Goes." }], { messageId: "two" });
  const isClosed = () => !listAgentProcesses().some((one) => one.sessionId === place.sessionId);
  await until("it is closed", isClosed);
  assert.equal(await session.revert!("two", never), "reverted");
  await play([{ text: "Next." }]);
  assert.match(received(), /Stays\..*Next\./);
  assert.doesNotMatch(received(), /Goes\./);
  const config = configDirectory({ HOME: host.home });
  const transcript = findTranscript(config, session.handle)!;
  const beside = readdirSync(transcript.replace(/\.jsonl$/, ""));
  assert.equal(beside.filter((name) => name.startsWith("before-revert-")).length, 1);
  await session.end(never);
  assert.equal(findTranscript(config, session.handle), transcript, "an end removes no transcript");
});
