// The fault harness of the host link: its checker notices every kind of broken promise, and a short
// run of three faults keeps them all. The long runs are `npm run faults -- link`.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer } from "../faults/command-records.ts";
import { check, type Entry, type History } from "../faults/history.ts";
import { daemonKilled } from "../faults/process-faults.ts";
import { hostCut } from "../faults/network-faults.ts";
import { runFault } from "../faults/run.ts";
import { switchOver } from "../faults/switch-over.ts";

const answer = (status: number, code: string, body = code, final = true): Answer => ({
  at: 1_000,
  tookMs: 5,
  node: "1",
  status,
  code,
  body,
  final,
});

const entry = (seq: number): Entry => ({
  seq,
  at: "2026-01-01T00:00:00.000Z",
  turnId: null,
  update: { sessionUpdate: "agent_message_chunk", messageId: `entry ${seq}` },
});

const journaled = (id: string, runs: number, begunAt = 500, finishedAt: number | null = 600) => ({
  id,
  begunAt,
  finishedAt,
  outcome: { result: { runs } } as { result: Record<string, unknown> } | null,
});

const three = () => [entry(1), entry(2), entry(3)];

/** A history in which everything went well: two commands of one host, three entries of one session. */
function goodHistory() {
  const sent = (name: string, commandId: string) => ({
    name,
    instanceId: "ins_1",
    commandId,
    answers: [answer(0, "TypeError", "", false), answer(200, "ok"), answer(200, "ok")],
  });
  return {
    commands: [sent("one", "c1"), sent("two", "c2")],
    hosts: [
      {
        instanceId: "ins_1",
        effects: 2,
        commands: [journaled("c1", 1), journaled("c2", 2)],
        sessions: [{ sessionId: "ses_1", entries: three() }],
        deaths: [] as number[],
      },
    ],
    appended: three().map(({ seq }) => ({ sessionId: "ses_1", seq, messageId: `entry ${seq}` })),
    stored: [{ sessionId: "ses_1", appliedSeq: 3, entries: three() }],
    presence: [],
    replies: [{ instanceId: "ins_1", commandId: "c1", outcome: { result: { runs: 1 } } }],
    broken: [],
  } satisfies History;
}

type Good = ReturnType<typeof goodHistory>;
const rulesOf = (history: History) => [...new Set(check(history).map(({ rule }) => rule))];

test("the checker finds nothing wrong with a good history", () => {
  assert.deepEqual(check(goodHistory()), []);
});

const planted: [what: string, plant: (history: Good) => void, rules: string[]][] = [
  [
    "a command that was run twice because its id was not looked up",
    ({ hosts }) => (hosts[0]!.effects = 3),
    ["a command was run twice"],
  ],
  [
    "a command that was run twice, and its second outcome kept",
    ({ hosts }) => {
      hosts[0]!.effects = 3;
      hosts[0]!.commands[0] = journaled("c1", 3);
    },
    ["a command was run twice", "a repeated command got another outcome"],
  ],
  [
    "one effect that two commands claim",
    ({ hosts }) => (hosts[0]!.commands[1] = journaled("c2", 1)),
    ["two commands share one effect"],
  ],
  [
    "a command that is done without effect",
    ({ hosts }) => (hosts[0]!.effects = 1),
    ["a command is done without effect"],
  ],
  [
    "a command that was answered and never done",
    ({ hosts }) => {
      hosts[0]!.effects = 1;
      hosts[0]!.commands.pop();
    },
    ["a command was answered and never done"],
  ],
  [
    "a command that was begun, answered and never finished",
    ({ hosts }) => {
      hosts[0]!.effects = 1;
      hosts[0]!.commands[1]!.outcome = null;
    },
    ["a command was answered and never done"],
  ],
  [
    "a command that was refused and yet done",
    ({ commands }) => (commands[0]!.answers = [answer(409, "host_offline")]),
    ["a command was refused and yet done"],
  ],
  [
    "two answers to one command",
    ({ commands }) => commands[0]!.answers.push(answer(200, "ok", "another body")),
    ["a command was answered in two ways"],
  ],
  [
    "a command that is never answered",
    ({ commands }) => (commands[0]!.answers = [answer(503, "unavailable", "", false)]),
    ["a command was not answered after the fault was over"],
  ],
  [
    "a command on a host that it was not meant for",
    ({ commands }) => (commands[1]!.instanceId = "ins_2"),
    ["a command was answered and never done", "a host has a command that it was never sent"],
  ],
  [
    "a repeat that is answered otherwise",
    ({ replies }) => (replies[0]!.outcome = { result: { runs: 9 } }),
    ["a repeated command got another outcome"],
  ],
  [
    "an entry that was dropped",
    ({ stored }) => stored[0]!.entries.splice(1, 1),
    [
      "a log has a gap or a repeat",
      "applied_seq is not the log's length",
      "the log is not the journal",
    ],
  ],
  [
    "the last entry dropped",
    ({ stored }) => {
      stored[0]!.entries.pop();
      stored[0]!.appliedSeq = 2;
    },
    ["the log is not the journal"],
  ],
  [
    "two entries that were swapped",
    ({ stored }) => {
      const [, two, three] = stored[0]!.entries as [Entry, Entry, Entry];
      [two.update, three.update] = [three.update, two.update];
    },
    ["the log is not the journal"],
  ],
  [
    "an entry that is there twice",
    ({ stored, hosts }) => {
      for (const { entries } of [stored[0]!, hosts[0]!.sessions[0]!]) {
        entries.push({ ...entry(3), seq: 4 });
      }
      stored[0]!.appliedSeq = 4;
    },
    ["an entry was written twice"],
  ],
  [
    "an entry that the journal confirmed and lost",
    ({ stored, hosts }) => {
      hosts[0]!.sessions[0]!.entries.pop();
      stored[0]!.entries.pop();
      stored[0]!.appliedSeq = 2;
    },
    ["a journal lost an entry"],
  ],
  [
    "a log that was restarted without need",
    ({ stored, hosts }) => {
      for (const { entries } of [stored[0]!, hosts[0]!.sessions[0]!]) {
        entries.push({ ...entry(4), update: { sessionUpdate: "journal_reset" } });
      }
      stored[0]!.appliedSeq = 4;
    },
    ["a needless reset"],
  ],
];

for (const [what, plant, rules] of planted) {
  test(`the checker notices ${what}`, () => {
    const history = goodHistory();
    plant(history);
    assert.deepEqual(rulesOf(history), rules);
  });
}

test("the checker notices a dead host that is shown online", () => {
  const presence = [{ instanceId: "ins_1", wanted: "offline", seen: "online", afterMs: 30_000 }];
  assert.deepEqual(rulesOf({ ...goodHistory(), presence }), ["presence is not true"]);
});

test("a command that a host's death cut may have taken effect before it was begun again, once", () => {
  const history = goodHistory();
  const [host] = history.hosts;
  host!.effects = 3;
  host!.deaths = [550];
  host!.commands[0] = journaled("c1", 2, 500, 900);
  host!.commands[1] = journaled("c2", 3, 950, 960);
  history.replies = [];
  assert.deepEqual(check(history), []);
  host!.effects = 4;
  assert.deepEqual(rulesOf(history), ["a command was run twice"]);
});

for (const fault of [daemonKilled, hostCut, switchOver]) {
  test(`${fault.id}: ${fault.title}: the history is good`, async () => {
    const options = { seed: "1", commands: 20, entries: 200, seconds: 6 };
    const { violations, entries, injections } = await runFault(fault, options);
    assert.deepEqual(violations, [], injections.join("\n"));
    assert.ok(injections.length > 0 && entries > 0);
  });
}
