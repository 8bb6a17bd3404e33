import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { recordings } from "../../../tests/recordings.ts";
import { wordsOf } from "./call-words.ts";
import { foldWords } from "./fold.ts";
import { lanesWords } from "./lanes.ts";
import { textOf } from "./notes.ts";
import type { Entry, Row } from "./row.ts";
import { createRows, rowsOf } from "./rows.ts";

/** A row as one line of text. */
function line(row: Row): string {
  switch (row.is) {
    case "fold":
      return `fold: ${foldWords(row.calls)}`;
    case "call": {
      const { verb, target } = wordsOf(row.call);
      return `call: ${verb} ${target} (${row.call.state})`;
    }
    case "note":
      return `note: ${textOf(row).text.replace(/\d\d:\d\d.*/, "…")}`;
    case "lanes":
      return `lanes: ${lanesWords(row.lanes)} [${row.lanes.map(line).join("; ")}]`;
    case "lane":
      return `lane: ${row.state} [${row.rows.map(line).join("; ")}]`;
    case "plan":
      return `plan: ${row.steps.map(({ status }) => status).join(" ")}`;
    case "shell":
      return `shell: ${row.exitCode} ${row.output.trim().replaceAll("\n", "|")}`;
    case "reverted":
      return `reverted: [${row.rows.map(line).join("; ")}]`;
    default:
      return `${row.is}: ${row.text.split(" @@", 1)[0]!.split("\n", 1)[0]}`;
  }
}

const lines = (rows: readonly Row[]) => rows.map(line);

let seq = 0;
const entry = (update: Entry["update"], turnId: string | null = "t1", second = 0): Entry => ({
  seq: ++seq,
  at: new Date(Date.UTC(2026, 10, 15, 10, 0, second)).toISOString(),
  turnId,
  update,
});
/** A log from these updates; a number is the second of the next ones. */
function log(...updates: (Entry["update"] | number)[]): Entry[] {
  seq = 0;
  let second = 0;
  return updates.flatMap((update) => {
    if (typeof update === "object") return [entry(update, "t1", second)];
    second = update;
    return [];
  });
}
const call = (toolCallId: string, kind = "read", parentToolCallId: string | null = null) => ({
  sessionUpdate: "tool_call",
  toolCallId,
  title: `${kind} ${toolCallId}`,
  kind,
  status: "in_progress",
  rawInput: {},
  parentToolCallId,
});
const done = (toolCallId: string, status = "completed", text = "") => ({
  sessionUpdate: "tool_call_update",
  toolCallId,
  status,
  content: [{ type: "content", content: { type: "text", text } }],
});
const prompt = (messageId: string) => ({
  sessionUpdate: "user_message_chunk",
  messageId,
  content: { type: "text", text: `prompt ${messageId}` },
});
const said = (messageId: string, parentToolCallId: string | null = null) => ({
  sessionUpdate: "agent_message_chunk",
  messageId,
  content: { type: "text", text: `text ${messageId}` },
  parentToolCallId,
});
const started = (messageId: string, model = "m1") => ({
  sessionUpdate: "turn_started",
  messageId,
  model: { providerId: "p", modelId: model },
  agent: null,
});
const finished = (outcome = "completed", reason: string | null = null) => ({
  sessionUpdate: "turn_finished",
  outcome,
  reason,
});

test("a recorded session of opencode reads as a document", () => {
  assert.deepEqual(lines(rowsOf(recordings[0]!.entries)), [
    "prompt: Look around, then write a file.",
    "thought: I should read first.",
    "prose: I will look around.",
    "fold: Read 1 file",
    "call: Read missing.txt (failed)",
    "fold: Ran 2 commands",
    "note: Allowed once: echo one && echo two",
    "note: Allowed once: ls -la",
    "fold: Used todowrite",
    "plan: completed completed completed",
    "call: Edited notes.md (completed)",
    "fold: Ran 1 command",
    "note: Allowed once: exit 3",
    "fold: Used todowrite",
    "prose: Done. **Two** commands ran:",
    "note: Turn 1 finished …",
    "prompt: Run something.",
    "call: Ran touch rejected (failed)",
    "note: Rejected: touch rejected",
    "prose: Then not.",
    "note: Turn 2 finished …",
    "prompt: Ask me.",
    "fold: Used question",
    "note: Answered: Which database? PostgreSQL",
    "prose: As you wish.",
    "note: Turn 3 finished …",
    "prompt: Delegate.",
    "prose: Two of them.",
    "lanes: 1 sub-agent, 1 call [lane: completed [fold: Ran 1 command; prose: Below.]]",
    "note: Allowed once: general",
    "note: Allowed once: echo below",
    "prose: They are done.",
    "note: Turn 4 finished …",
    "shell: 0 line 1|line 2|line 3",
    "prompt: Take your time.",
    "note: Not sent: the turn before it was stopped.",
    "prose: one ",
    "note: Turn 5 was stopped …",
  ]);
});

for (const { kind, entries } of recordings) {
  test(`a recorded session of ${kind} has a fold, a failed call, a lane, a shell command and no unknown row`, () => {
    const all = lines(rowsOf(entries));
    const has = (start: string) => all.some((text) => text.startsWith(start));
    for (const start of [
      "prompt:",
      "thought:",
      "prose:",
      "fold: Ran",
      "lanes: 1 sub-agent",
      "shell: 0",
    ]) {
      assert.ok(has(start), start);
    }
    assert.ok(all.some((text) => text.endsWith("(failed)")));
    assert.ok(!all.some((text) => text.includes("does not know")));
    assert.ok(!all.some((text) => text.includes("running")));
  });

  test(`any cut of ${kind}'s log into frames gives the same rows`, () => {
    const recording = recordings.find((each) => each.kind === kind)!;
    const whole = rowsOf(entries);
    fc.assert(
      fc.property(fc.array(fc.nat(recording.frames.length), { maxLength: 12 }), (cuts) => {
        const made = createRows();
        recording.frames.forEach((frame, at) => {
          if (frame.event === "entry") made.add(frame.data);
          else made.addLive(frame.data);
          // Rows that were made from a part of the entries must not change the rows that are made from all of them.
          if (cuts.includes(at)) made.rows();
        });
        assert.deepEqual(made.rows(), whole);
      }),
      { numRuns: 60 },
    );
  });

  test(`rows of ${kind} after each entry are those of the log until there`, () => {
    const made = createRows();
    entries.forEach((each, at) => {
      made.add(each);
      assert.deepEqual(made.rows(), rowsOf(entries.slice(0, at + 1)), `entry ${each.seq}`);
    });
  });
}

test("any order of running, failing and nested calls gives the same rows at once and step by step", () => {
  const step = fc.oneof(
    fc.record({
      is: fc.constant("begin"),
      id: fc.nat(7),
      kind: fc.constantFrom("read", "edit", "execute", "think"),
      below: fc.option(fc.nat(7)),
    }),
    fc.record({
      is: fc.constant("end"),
      id: fc.nat(7),
      status: fc.constantFrom("completed", "failed"),
    }),
    fc.record({ is: fc.constantFrom("say", "prompt", "finish", "revert", "plan"), id: fc.nat(3) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const begun = new Set<number>();
      const updates = steps.flatMap((each): Entry["update"][] => {
        const id = String(each.id);
        if ("kind" in each) {
          if (begun.has(each.id)) return [];
          // A call is begun before what its sub-agent does.
          const below = each.below !== null && begun.has(each.below) ? String(each.below) : null;
          begun.add(each.id);
          return [call(id, each.kind, below)];
        }
        if ("status" in each) return [done(id, each.status)];
        if (each.is === "say") return [said(id)];
        if (each.is === "prompt") return [prompt(id)];
        if (each.is === "finish") return [finished()];
        if (each.is === "plan") return [{ sessionUpdate: "plan", entries: [] }];
        return [{ sessionUpdate: "session_reverted", messageId: id }];
      });
      const entries = log(...updates);
      const made = createRows();
      for (const each of entries) {
        made.add(each);
        made.rows();
      }
      assert.deepEqual(made.rows(), rowsOf(entries));
    }),
    { numRuns: 300 },
  );
});

test("any window of a log can be drawn, and the row keys of a log are unique", () => {
  for (const { entries } of recordings) {
    for (let from = 0; from < entries.length; from++) {
      const keys = rowsOf(entries.slice(from)).map(({ key }) => key);
      assert.equal(new Set(keys).size, keys.length);
    }
  }
});

test("4.1 Fold: a run of calls is one line; a running, a failed and an editing call never fold", () => {
  const entries = log(
    call("a"),
    call("b", "search"),
    call("c", "execute"),
    done("a"),
    done("b"),
    done("c"),
    call("d", "edit"),
    done("d"),
    call("e", "execute"),
    done("e", "failed"),
    call("f"),
  );
  assert.deepEqual(lines(rowsOf(entries)), [
    "fold: Read 1 file, searched once, ran 1 command",
    "call: Edited edit d (completed)",
    "call: Ran execute e (failed)",
    "call: Reading read f (running)",
  ]);
});

test("4.1 Fold: a call that ends joins the folds on both of its sides", () => {
  const entries = log(call("a"), call("b"), call("c"), done("a"), done("c"));
  assert.deepEqual(lines(rowsOf(entries)), [
    "fold: Read 1 file",
    "call: Reading read b (running)",
    "fold: Read 1 file",
  ]);
  assert.deepEqual(lines(rowsOf([...entries, entry(done("b"))])), ["fold: Read 3 files"]);
});

test("a call without an end does not run after its turn", () => {
  const rows = rowsOf(
    log(started("m"), prompt("m"), call("a"), finished("interrupted", "It died.")),
  );
  assert.equal(line(rows[1]!), "call: Read read a (unfinished)");
  const note = textOf(rows[2] as Row & { is: "note" });
  assert.equal(note.tone, "bad");
  assert.equal(note.reason, "It died.");
});

test("4.2.6 Sub-agents: a call with entries of a sub-agent is a lane, and lanes in lanes stay inside", () => {
  const entries = log(
    call("a", "think"),
    call("b", "think", "a"),
    call("c", "read", "b"),
    said("m", "b"),
    done("c"),
    done("b"),
    done("a"),
  );
  assert.deepEqual(lines(rowsOf(entries)), [
    "lane: completed [lane: completed [fold: Read 1 file; prose: text m]]",
  ]);
  const folded = rowsOf([...entries, entry(finished())]);
  assert.equal(
    line(folded[0]!),
    "lanes: 1 sub-agent, 2 calls [lane: completed [lanes: 1 sub-agent, 1 call [lane: completed [fold: Read 1 file; prose: text m]]]]",
  );
});

test("4.2.6 Sub-agents: a failed lane stays out, and of more than eight the finished ones fold while others run", () => {
  const ids = Array.from({ length: 10 }, (_, at) => `l${at}`);
  const begun = ids.flatMap((id) => [call(id, "think"), call(`${id}c`, "read", id)]);
  const ends = ids
    .slice(0, 8)
    .flatMap((id, at) => [done(`${id}c`), done(id, at === 3 ? "failed" : "completed")]);
  const rows = rowsOf(log(...begun, ...ends));
  assert.deepEqual(
    rows.map((row) => (row.is === "lanes" ? row.lanes.length : row.is === "lane" && row.state)),
    [7, "failed", "running", "running"],
  );
});

test("4.2.6 Sub-agents: a lane whose call is on a page that is not loaded is shown, and is complete with that page", () => {
  const entries = log(call("a", "think"), said("m", "a"), done("a"));
  assert.deepEqual(lines(rowsOf(entries.slice(1))), ["lane: completed [prose: text m]"]);
  assert.deepEqual(lines(rowsOf(entries)), ["lane: completed [prose: text m]"]);
});

test("4.1 Plan: a later plan of the turn is put in the place of the first", () => {
  const plan = (status: string) => ({
    sessionUpdate: "plan",
    entries: [{ content: "x", priority: "high", status }],
  });
  const rows = rowsOf(log(plan("pending"), said("m"), plan("completed")));
  assert.deepEqual(lines(rows), ["plan: completed", "prose: text m"]);
  assert.equal((rows[0] as Row & { is: "plan" }).earlier.length, 1);
});

test("4.1 Prompt: a revert folds everything from its prompt on, also when the prompt is not loaded", () => {
  const entries = log(
    prompt("1"),
    said("a"),
    prompt("2"),
    said("b"),
    { sessionUpdate: "session_reverted", messageId: "2" },
    prompt("3"),
  );
  assert.deepEqual(lines(rowsOf(entries)), [
    "prompt: prompt 1",
    "prose: text a",
    "reverted: [prompt: prompt 2; prose: text b]",
    "prompt: prompt 3",
  ]);
  assert.deepEqual(lines(rowsOf(entries.slice(3))), [
    "reverted: [prose: text b]",
    "prompt: prompt 3",
  ]);
});

test("a turn's line has its number, time and share of the cost, if its beginning is loaded", () => {
  const usage = (costUsd: number) => ({
    sessionUpdate: "usage_update",
    usage: {},
    costUsd,
    costIsEstimate: true,
  });
  const entries = log(
    started("1"),
    usage(1),
    finished(),
    10,
    started("2"),
    usage(1.25),
    82,
    finished(),
  );
  const end = (rows: readonly Row[]) =>
    textOf(rows.at(-1) as Row & { is: "note" }).text.replace(/\d\d:\d\d/, "…");
  assert.equal(end(rowsOf(entries)), "Turn 2 finished …, 1 min 12 s, ≈ $0.25");
  assert.equal(end(rowsOf(entries.slice(4))), "Turn finished …");
});

test("a turn that failed shows its reason whole, and says that the session goes on", () => {
  const [row] = rowsOf(log(finished("failed", "The model refused the key.\nSign in again.")));
  const { reason, tone } = textOf(row as Row & { is: "note" });
  assert.equal(tone, "bad");
  assert.equal(
    reason,
    "The model refused the key.\nSign in again. The session goes on with your next prompt.",
  );
});

test("a change of the model is a line; the first model is none", () => {
  const rows = rowsOf(log(started("1"), finished(), started("2"), finished(), started("3", "m2")));
  assert.deepEqual(
    lines(rows).filter((text) => text.includes("From here")),
    ["note: From here on m2"],
  );
});

test("waiting prompts leave the queue with their turn, or when they are dropped", () => {
  const queued = (messageId: string) => ({
    sessionUpdate: "prompt_queued",
    messageId,
    turnId: `t${messageId}`,
    text: messageId,
  });
  const entries = log(started("1"), queued("2"), queued("3"));
  const made = createRows();
  for (const each of entries) made.add(each);
  const waiting = () => made.state().waiting.map(({ messageId }) => messageId);
  assert.deepEqual(waiting(), ["2", "3"]);
  made.add(entry(finished()));
  made.add(entry(started("2"), "t2"));
  assert.deepEqual(waiting(), ["3"]);
  assert.equal(made.state().turn?.turnId, "t2");
  made.add(
    entry(
      { sessionUpdate: "prompt_dropped", messageId: "3", turnId: "t3", reason: "Stopped." },
      "t3",
    ),
  );
  assert.deepEqual(waiting(), []);
});

test("the running turn is known also when its beginning is not loaded", () => {
  const made = createRows();
  for (const each of log(said("a"), said("b")).slice(1)) made.add(each);
  assert.deepEqual(made.state().turn, {
    turnId: "t1",
    startedAt: undefined,
    messageId: undefined,
    lanes: { running: 0, total: 0 },
  });
});

test("an unknown word, a cut entry and one that cannot be read are quiet lines, never errors", () => {
  const rows = rowsOf(
    log(
      { sessionUpdate: "novel", field: 1 },
      { sessionUpdate: "constructor" },
      { sessionUpdate: "unknown", raw: {} },
      { sessionUpdate: "user_message_chunk", messageId: "m" },
      { ...said("x"), _meta: { "hawser/whole": { size: 2_400_000, sha256: "0" } } },
    ),
  );
  assert.deepEqual(lines(rows), [
    "note: An entry this page does not know",
    "note: An entry this page does not know",
    "note: An entry this page does not know",
    "note: An entry this page does not know",
    "prose: text x",
    "note: Cut here, 2.4 MB in all",
  ]);
});

test("4.1 Streaming: live text grows at its offset, and its entry takes its place under the same key", () => {
  const made = createRows();
  const live = (text: string, offset: number) =>
    made.addLive({ itemId: "m", turnId: "t1", kind: "message", text, offset });
  live("Hel", 0);
  live("lo", 3);
  const [open] = made.rows() as [Row & { is: "prose" }];
  assert.deepEqual([open.text, open.isOpen], ["Hello", true]);
  // A piece is lost: what is there stays, and the rest of the item is dropped.
  live("!", 9);
  live("?", 10);
  assert.equal((made.rows()[0] as Row & { is: "prose" }).text, "Hello");
  live("Hello, you", 0);
  assert.equal((made.rows()[0] as Row & { is: "prose" }).text, "Hello, you");
  const [first] = log(said("m"));
  made.add(first!);
  live("late", 5);
  const [closed] = made.rows() as [Row & { is: "prose" }];
  assert.equal(made.rows().length, 1);
  assert.deepEqual([closed.text, closed.isOpen, closed.key], ["text m", false, open.key]);
});

test("live text of a turn that is over is dropped, and the output of a shell command is put into its row", () => {
  const made = createRows();
  made.addLive({ itemId: "m", turnId: "t1", kind: "message", text: "never stored", offset: 0 });
  for (const each of log(finished("aborted"))) made.add(each);
  made.addLive({ itemId: "m", turnId: "t1", kind: "message", text: "late", offset: 0 });
  assert.equal(made.rows().length, 1);
  made.add(entry({ sessionUpdate: "shell_started", shellId: "s", agent: null }, null));
  made.addLive({ itemId: "s", turnId: null, kind: "output", text: "one\n", offset: 0 });
  made.addLive({ itemId: "s", turnId: null, kind: "output", text: "two\n", offset: 4 });
  assert.equal(line(made.rows().at(-1)!), "shell: null one|two");
  assert.equal(made.state().shells, 1);
  const end = {
    sessionUpdate: "shell",
    shellId: "s",
    agent: null,
    exitCode: 0,
    output: "all",
    reason: null,
  };
  made.add(entry(end, null));
  assert.deepEqual(lines(made.rows()).slice(1), ["shell: 0 all"]);
  assert.equal(made.state().shells, 0);
});

test("a row that a later one has closed is not made again", () => {
  const made = createRows();
  for (const each of recordings[0]!.entries) made.add(each);
  const before = made.rows();
  made.add({ ...entry(said("new"), "t9"), seq: recordings[0]!.entries.length + 1 });
  const after = made.rows();
  before.slice(0, -1).forEach((row, at) => assert.equal(after[at], row));
});
