// How processes of the real Claude Code start and end: none is left behind, and a session keeps its
// history.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Errand } from "@hawser/testkit/claude-driver-process.ts";
import { openClaudeHost, type ClaudeHost } from "@hawser/testkit/claude-host.ts";
import { until } from "@hawser/testkit/until.ts";
import { listAgentProcesses } from "../agent-processes.ts";
import { placeIn, policy, promptOf } from "@hawser/testkit/conformance/bench.ts";
import type { AgentEvent, Driver, SessionSettings } from "../driver.ts";
import type { Step } from "../scripted/script.ts";

let host: ClaudeHost;
let directory: string;
const never = new AbortController().signal;
before(async () => {
  host = await openClaudeHost();
  directory = host.makeRepository();
});
after(() => host[Symbol.asyncDispose]());

const allowing = { ...policy, allowedCommands: ["echo *", "sleep *", "env"] };
const settingsOf = (sessionId: string): SessionSettings =>
  placeIn(directory, {
    sessionId: `${sessionId}-${process.pid}`,
    title: null,
    policy: allowing,
  });
const of = ({ sessionId }: SessionSettings) =>
  listAgentProcesses().filter((found) => found.sessionId === sessionId);
const bash = (command: string) => ({ tool: "Bash", input: { command, description: "x" } });
const textOf = (steps: Step[]) => `Do it. @@${JSON.stringify(steps)}`;

async function startRecorded(driver: Driver, place: SessionSettings) {
  const events: AgentEvent[] = [];
  const session = await driver.start(place, (event) => events.push(event), never);
  const ends = () => events.filter(({ type }) => type === "turn_ended").length;
  return {
    events,
    session,
    play: async (text: string) => {
      const before = ends();
      await session.prompt({ ...promptOf([]), text }, never);
      await until("the turn is over", () => ends() > before, 20_000);
    },
  };
}

test("an idle process is ended without an event, and the next prompt has the history", async () => {
  const driver = host.openDriver({ idleMs: 500 });
  const place = settingsOf("idle");
  const { events, play } = await startRecorded(driver, place);
  await play(textOf([{ text: "The first answer." }]));
  await until("it is closed", () => of(place).length === 0);
  // A process counts as live until everything that it started is found to have ended.
  await until("it is not live", () => driver.liveStarts().length === 0);
  assert.equal(events.at(-1)?.type, "turn_ended");
  await play(textOf([{ text: "Again." }]));
  assert.equal(of(place).length, 1);
  assert.match(JSON.stringify(host.model.requests.at(-1)?.body), /The first answer\./);
  await driver.close();
  assert.deepEqual(of(place), []);
});

test("a process has a directory for temporary files that is its session's", async () => {
  const driver = host.openDriver();
  const place = settingsOf("temporary");
  const { play } = await startRecorded(driver, place);
  await play(textOf([{ text: "Done." }]));
  const [found] = of(place);
  const variables = readFileSync(`/proc/${found!.pid}/environ`, "utf8").split("\0");
  assert.ok(variables.includes(`TMPDIR=${join(host.folder, "tmp", place.sessionId)}`));
  await driver.close();
});

test("a prompt that looks like a slash command is sent as a prompt", async () => {
  const driver = host.openDriver();
  const { events, play } = await startRecorded(driver, settingsOf("slash"));
  await play(`/clear ${textOf([{ text: "Not cleared." }])}`);
  assert.match(JSON.stringify(events), /Not cleared\./);
  await driver.close();
});

test("a background command is ended with the session, and starts no turn", async () => {
  const driver = host.openDriver();
  const place = settingsOf("background");
  const { events, play } = await startRecorded(driver, place);
  const call = { tool: "Bash", input: { command: "sleep 1", run_in_background: true } };
  await play(textOf([{ calls: [call] }, { text: "Started." }]));
  const reported = events.length;
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  assert.equal(events.length, reported, JSON.stringify(events.slice(reported)));
  await driver.close();
  assert.deepEqual(of(place), []);
});

test("an agent sees no more of the daemon's environment than it needs", async () => {
  process.env["HAWSER_TEST_SECRET"] = "hidden";
  const driver = host.openDriver();
  const { events, play } = await startRecorded(driver, settingsOf("environment"));
  await play(textOf([{ calls: [bash("env")] }, { text: "Seen." }]));
  const reported = JSON.stringify(events);
  assert.match(reported, /HAWSER_AGENT=/);
  assert.doesNotMatch(reported, /HAWSER_TEST_SECRET|hidden/);
  await driver.close();
  delete process.env["HAWSER_TEST_SECRET"];
});

test("a change of a file is shown as a patch, and needs permission outside the directory", async () => {
  const driver = host.openDriver();
  const place = settingsOf("patch");
  const { events, session, play } = await startRecorded(driver, place);
  const path = join(directory, "boat.txt");
  await play(
    textOf([
      { calls: [{ tool: "Write", input: { file_path: path, content: "one\ntwo\nthree\n" } }] },
      {
        calls: [{ tool: "Edit", input: { file_path: path, old_string: "two", new_string: "2" } }],
      },
      { text: "Changed." },
    ]),
  );
  assert.equal(readFileSync(path, "utf8"), "one\n2\nthree\n");
  assert.ok(!events.some(({ type }) => type === "request"));
  const patches = events.flatMap((event) =>
    event.type === "update" && event.update.sessionUpdate === "tool_call_update"
      ? event.update.content.filter((one) => one.type === "patch")
      : [],
  );
  assert.deepEqual(
    patches.map(({ path: shown, added, removed }) => ({ shown, added, removed })),
    [
      { shown: "boat.txt", added: 3, removed: 0 },
      { shown: "boat.txt", added: 1, removed: 1 },
    ],
  );
  assert.match(
    patches[1]!.patch,
    /^--- a\/boat\.txt\n\+\+\+ b\/boat\.txt\n@@ .*\n one\n-two\n\+2\n/,
  );
  const outside = join(host.folder, "outside.txt");
  const call = { tool: "Write", input: { file_path: outside, content: "x" } };
  await session.prompt(promptOf([{ calls: [call] }, { text: "Not." }]), never);
  await until("it is asked", () => events.some(({ type }) => type === "request"));
  const request = events.find((event) => event.type === "request");
  assert.ok(request && "permission" in request.asked);
  assert.deepEqual(request.asked.permission, {
    title: "Write a file",
    detail: `${outside}\n\ncontent:\nx`,
    alwaysRules: [],
  });
  assert.ok(!existsSync(outside));
  await driver.close();
});

/** Starts a daemon process with one session and one prompt, and collects the events that it prints. */
function startDaemon(place: SessionSettings, steps: Step[]) {
  const { program, home } = host;
  const { directory: started, sessionId, title } = place;
  const sent = { sessionId, title, policy: allowing };
  const errand: Errand = { program, home, directory: started, place: sent, text: textOf(steps) };
  const file = fileURLToPath(import.meta.resolve("@hawser/testkit/claude-driver-process.ts"));
  const child: ChildProcess = spawn(process.execPath, [file, JSON.stringify(errand)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const events: (AgentEvent & { handle?: string })[] = [];
  createInterface({ input: child.stdout! }).on("line", (line) => {
    events.push(JSON.parse(line) as AgentEvent);
  });
  const has = (type: AgentEvent["type"]) => () => events.some((event) => event.type === type);
  return { child, events, has };
}

test("after kill -9 of the daemon the turn is interrupted, no process is left, and the history is kept", async () => {
  const place = settingsOf("killed");
  const { child, events, has } = startDaemon(place, [
    { text: "Begun.", calls: [bash("echo done")] },
    { text: "Waiting.", calls: [bash("sleep 300")] },
  ]);
  const isSleeping = () =>
    of(place).some(({ pid }) => {
      try {
        return readFileSync(`/proc/${pid}/comm`, "utf8") === "sleep\n";
      } catch {
        return false;
      }
    });
  await until("the command runs", isSleeping, 20_000);
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.ok(!has("turn_ended")());
  assert.ok(of(place).length > 0, "the daemon's processes still run");
  const reported: AgentEvent[] = [];
  const driver = host.openDriver();
  const session = await driver.resume(
    {
      ...place,
      handle: events.find(({ handle }) => handle !== undefined)!.handle!,
      cursor: events.findLast(({ cursor }) => cursor !== undefined)!.cursor!,
      turnId: "turn-1",
      messageId: "message-1",
      openRequests: [],
    },
    (event) => reported.push(event),
    never,
  );
  assert.deepEqual(of(place), [], "nothing is left");
  const end = reported.at(-1);
  assert.ok(end?.type === "turn_ended" && end.outcome === "interrupted" && end.reason);
  const [failed] = reported.flatMap((event) => (event.type === "update" ? [event.update] : []));
  assert.ok(
    failed?.sessionUpdate === "tool_call_update" && failed.status === "failed",
    JSON.stringify({ events, reported }),
  );
  await session.prompt(promptOf([{ text: "Back." }]), never);
  await until(
    "the session continues",
    () => reported.filter(({ type }) => type === "turn_ended").length === 2,
  );
  assert.match(JSON.stringify(host.model.requests.at(-1)?.body), /Begun\..*Back\./);
  await session.end(never);
  assert.deepEqual(of(place), []);
  await driver.close();
});

test("the next daemon reports once what an agent did after the daemon was killed", async () => {
  const place = settingsOf("orphaned");
  const { child, events } = startDaemon(place, [
    { text: "One.", calls: [bash("sleep 1")] },
    { text: "Two.", calls: [bash("echo two")] },
    { text: "Three." },
  ]);
  const isCalled = () =>
    events.some((event) => event.type === "update" && event.update.sessionUpdate === "tool_call");
  await until("the call is reported", isCalled, 20_000);
  child.kill("SIGKILL");
  await once(child, "exit");
  // Without a daemon, the process continues by itself until its turn has ended.
  await until("it has ended by itself", () => of(place).length === 0, 20_000);
  const reported: AgentEvent[] = [];
  const driver = host.openDriver();
  const session = await driver.resume(
    {
      ...place,
      handle: events.find(({ handle }) => handle !== undefined)!.handle!,
      cursor: events.findLast(({ cursor }) => cursor !== undefined)!.cursor!,
      turnId: "turn-1",
      messageId: "message-1",
      openRequests: [],
    },
    (event) => reported.push(event),
    never,
  );
  const all = [...events, ...reported].flatMap((event) =>
    event.type === "update" ? [event.update] : [],
  );
  const texts = all.flatMap((update) =>
    update.sessionUpdate === "agent_message_chunk" ? [update.content.text] : [],
  );
  assert.deepEqual(texts, ["One.", "Two.", "Three."]);
  const ids = all.map((update) => JSON.stringify(update));
  assert.equal(new Set(ids).size, ids.length, "nothing is reported twice");
  await session.end(never);
  await driver.close();
});
