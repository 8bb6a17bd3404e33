// The whole table of what may happen to a session: each state with each trigger, as a literal grid, and
// the same table seen from outside through a host's commands.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asks, begin, codeOf, makeSmallHost, script, wanted } from "@hawser/testkit/small-host.ts";
import { CommandRefusal } from "../command-refusal.ts";
import type { Journal } from "../journal/journal.ts";
import {
  may,
  refuseUnless,
  states,
  triggers,
  type State,
  type Trigger,
  type Verdict,
} from "./may.ts";

const ok = "allowed";
const none = "ignored";
const over = "session_ended";
const busy = "turn_running";
const gone = "not_found";

const grid: Record<Trigger, Verdict[]> = {
  // Columns: starting, idle, shell, delivering, running, stopping, reverting, ending, ended.
  prompt: [over, ok, ok, ok, ok, ok, ok, over, over],
  command: [over, ok, ok, ok, ok, ok, ok, over, over],
  summary: [over, ok, ok, busy, busy, busy, ok, over, over],
  shell: [over, ok, ok, busy, busy, busy, busy, over, over],
  revert: [over, ok, busy, busy, busy, busy, ok, over, over],
  push: ["push_failed", ok, ok, ok, ok, ok, ok, over, over],
  mode: [over, ok, ok, ok, ok, ok, ok, over, over],
  queue: [over, ok, ok, ok, ok, ok, ok, over, over],
  read: [ok, ok, ok, ok, ok, ok, ok, gone, gone],
  abort: [none, ok, ok, ok, ok, ok, ok, none, none],
  answer: [ok, ok, ok, ok, ok, ok, ok, none, none],
  end: [ok, ok, ok, ok, ok, ok, ok, ok, ok],
  "agent lost": [ok, ok, ok, ok, ok, ok, ok, ok, none],
};

const order: State[] = [
  "starting",
  "idle",
  "shell",
  "delivering",
  "running",
  "stopping",
  "reverting",
  "ending",
  "ended",
];

test("the grid names every state and every trigger", () => {
  assert.deepEqual(order, [...states]);
  assert.deepEqual(Object.keys(grid), [...triggers]);
});

for (const trigger of triggers) {
  test(`what may happen: ${trigger}`, () => {
    assert.deepEqual(
      order.map((state) => `${state}: ${may(state, trigger)}`),
      order.map((state, column) => `${state}: ${grid[trigger][column]}`),
    );
  });
}

test("a refusal has the table's code and a sentence; what is allowed or ignored throws nothing", () => {
  for (const trigger of triggers) {
    for (const state of states) {
      const verdict = may(state, trigger);
      if (verdict === ok || verdict === none) refuseUnless(state, trigger);
      else {
        assert.throws(
          () => refuseUnless(state, trigger),
          (error) =>
            error instanceof CommandRefusal &&
            error.code === verdict &&
            error.message.endsWith("."),
        );
      }
    }
  }
});

test("commands see the table: while a turn runs, and after the end", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const runShell = async () => codeOf(await host.ask("run_shell", { sessionId, command: "true" }));
  const summarize = async () => codeOf(await host.ask("summarize_session", { sessionId }));
  const revert = async () =>
    codeOf(await host.ask("revert_session", { sessionId, messageId: "msg_none" }));
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"])]) });
  await host.until(sessionId, "request_raised");
  assert.equal(await runShell(), busy);
  assert.equal(await summarize(), busy);
  assert.equal(await revert(), busy);
  assert.equal(codeOf(await host.ask("send_prompt", { sessionId, text: "next" })), "done");
  const inFolder = wanted(small.folder);
  await host.must("start_session", inFolder);
  const { sessionId: elsewhere } = inFolder;
  await host.must("send_prompt", { sessionId: elsewhere, text: script([asks(["ls"])]) });
  await host.until(elsewhere, "request_raised");
  const revertElsewhere = { sessionId: elsewhere, messageId: "msg_none" };
  // What a session can never do is said first.
  assert.equal(codeOf(await host.ask("revert_session", revertElsewhere)), "capability_missing");
  await host.must("end_session", { sessionId });
  assert.equal(await runShell(), over);
  assert.equal(await revert(), over);
  assert.equal(codeOf(await host.ask("send_prompt", { sessionId, text: "late" })), over);
  assert.equal(codeOf(await host.ask("describe_session", { sessionId })), gone);
  await host.close();
});

test("a full journal is reported before a running turn", async () => {
  using small = makeSmallHost();
  let isFull = false;
  const wrapJournal = (journal: Journal): Journal => ({
    ...journal,
    log: { ...journal.log, acceptsTurns: () => !isFull && journal.log.acceptsTurns() },
  });
  const { host, sessionId } = await begin(small, { wrapJournal });
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"])]) });
  await host.until(sessionId, "request_raised");
  isFull = true;
  const full = "journal_full";
  assert.equal(codeOf(await host.ask("run_shell", { sessionId, command: "true" })), full);
  assert.equal(codeOf(await host.ask("summarize_session", { sessionId })), full);
  assert.equal(codeOf(await host.ask("send_prompt", { sessionId, text: "next" })), full);
  await host.close();
});
