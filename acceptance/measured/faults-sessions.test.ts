// The fault harness of sessions: its checkers notice every kind of broken promise, and short runs break
// none. The long ones are `npm run faults -- sessions` and `npm run faults -- approvals`.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { AgentKind } from "@hawser/contract";
import { until } from "@hawser/testkit/until.ts";
import type { Answer } from "../faults/command-records.ts";
import type { Entry } from "../faults/history.ts";
import {
  checkApprovals,
  type Approval,
  type ApprovalsHistory,
} from "../faults/sessions/check-approvals.ts";
import { checkSessions } from "../faults/sessions/check-sessions.ts";
import { runApprovals } from "../faults/sessions/run-approvals.ts";
import { runSessions } from "../faults/sessions/run-sessions.ts";
import type { SeenEntry, SessionsHistory } from "../faults/sessions/history.ts";
import { hasSeenEnd, startViewer } from "../faults/sessions/viewer.ts";

const at = (seq: number) => new Date(Date.UTC(2026, 0, 1) + 1000 * seq).toISOString();
const accepted = (turnId: string): Answer => ({
  at: 1_000,
  tookMs: 5,
  node: "1",
  status: 200,
  code: "ok",
  body: JSON.stringify({ result: { turnId } }),
  final: true,
});
const refused = (status: number, code: string, final = true): Answer => ({
  ...accepted(""),
  status,
  code,
  body: code,
  final,
});

/** One turn that went well. */
const turn = (turnId: string, from: number): Entry[] =>
  [
    { sessionUpdate: "user_message_chunk", messageId: `${turnId} asked` },
    { sessionUpdate: "turn_started", messageId: `${turnId} asked` },
    { sessionUpdate: "agent_message_chunk", messageId: `${turnId} said` },
    { sessionUpdate: "turn_finished", outcome: "completed" },
  ].map((update, index) => ({ seq: from + index, at: at(from + index), turnId, update }));

const log = () => [...turn("t1", 1), ...turn("t2", 5)];
const seen = (): SeenEntry[] =>
  log().map((entry) => ({ ...entry, seenAt: Date.parse(entry.at) + 100 }));

/** A history in which everything went well: two prompts of one session, and two viewers. */
function goodSessions() {
  return {
    prompts: [
      {
        name: "prompt-1",
        sessionId: "ses_1",
        answers: [refused(0, "TypeError", false), accepted("t1")],
      },
      { name: "prompt-2", sessionId: "ses_1", answers: [accepted("t2"), accepted("t2")] },
      { name: "prompt-3", sessionId: "ses_1", answers: [refused(409, "host_offline")] },
    ],
    starts: new Map([
      ["prompt-1", 1],
      ["prompt-2", 1],
    ]),
    viewers: [
      { viewer: "viewer 1", sessionId: "ses_1", seen: seen() },
      { viewer: "viewer 2", sessionId: "ses_1", seen: seen() },
    ],
    journals: [{ sessionId: "ses_1", entries: log() }],
    sessions: [{ sessionId: "ses_1", status: "detached", live: "stopped", isAgentAlive: false }],
    processes: [] as SessionsHistory["processes"],
    unnoticed: [{ sessionId: "ses_1", turnId: "t2" }],
    broken: [],
  } satisfies SessionsHistory;
}

type Sessions = ReturnType<typeof goodSessions>;
const sessionRules = (history: SessionsHistory) => [
  ...new Set(checkSessions(history).map(({ rule }) => rule)),
];

test("the checker of sessions finds nothing wrong with a good history", () => {
  assert.deepEqual(checkSessions(goodSessions()), []);
});

test("a turn that was cut and a prompt that was dropped are outcomes, if nothing claims otherwise", () => {
  const history = goodSessions();
  const update = { sessionUpdate: "turn_finished", outcome: "interrupted" };
  const dropped = { sessionUpdate: "prompt_dropped", turnId: "t2", messageId: "t2 asked" };
  for (const { entries } of [
    { entries: history.journals[0]!.entries },
    ...history.viewers.map((each) => ({ entries: each.seen as Entry[] })),
  ]) {
    entries.splice(4, 4);
    entries[3]!.update = update;
    const last = { seq: 5, at: at(5), turnId: null, update: dropped, seenAt: 0 };
    entries.push(last);
  }
  history.starts.delete("prompt-2");
  history.unnoticed = [];
  assert.deepEqual(checkSessions(history), []);
});

const bugs: [what: string, plant: (history: Sessions) => void, rules: string[]][] = [
  [
    "an entry that a viewer never got",
    ({ viewers }) => viewers[1]!.seen.splice(2, 1),
    ["a viewer missed an entry"],
  ],
  [
    "an entry that a viewer got twice",
    ({ viewers }) => viewers[1]!.seen.splice(2, 0, viewers[1]!.seen[2]!),
    ["a viewer saw an entry twice"],
  ],
  [
    "entries that came again after a viewer was back",
    ({ viewers }) => viewers[0]!.seen.push(...viewers[0]!.seen.slice(5)),
    ["a viewer saw entries out of order"],
  ],
  [
    "two entries that were swapped",
    ({ viewers }) => {
      const entries = viewers[0]!.seen;
      [entries[2]!.update, entries[3]!.update] = [entries[3]!.update, entries[2]!.update];
    },
    ["a viewer saw another entry"],
  ],
  [
    "an entry that a viewer got for another turn",
    ({ viewers }) => (viewers[0]!.seen[2]!.turnId = "t2"),
    ["a viewer saw another entry"],
  ],
  [
    "a viewer who is stuck before the end",
    ({ viewers, unnoticed }) => {
      viewers[0]!.seen.splice(6);
      unnoticed.pop();
    },
    ["a viewer stopped before the end"],
  ],
  [
    "a viewer who saw nothing",
    ({ viewers, unnoticed }) => {
      viewers[0]!.seen = [];
      unnoticed.pop();
    },
    ["a viewer stopped before the end"],
  ],
  [
    "a viewer who saw what nobody wrote",
    ({ viewers }) =>
      viewers[0]!.seen.push({ ...viewers[0]!.seen[0]!, seq: 9, update: { sessionUpdate: "plan" } }),
    ["a viewer saw what no journal holds"],
  ],
  [
    "an entry that is missing for everyone",
    ({ journals, viewers }) => {
      journals[0]!.entries.splice(2, 1);
      for (const { seen } of viewers) seen.splice(2, 1);
    },
    ["a journal has a gap or a repeat", "a viewer missed an entry"],
  ],
  [
    "an entry that was recorded twice under two numbers",
    ({ journals, viewers }) => {
      const again = { ...turn("t2", 5)[2]!, seq: 9 };
      journals[0]!.entries.push(again);
      for (const { seen } of viewers) seen.push({ ...again, seenAt: 0 });
    },
    ["an entry was written twice"],
  ],
  [
    "a log that was restarted without need",
    ({ journals, viewers }) => {
      const reset = { seq: 9, at: at(9), turnId: null, update: { sessionUpdate: "journal_reset" } };
      journals[0]!.entries.push(reset);
      for (const { seen } of viewers) seen.push({ ...reset, seenAt: 0 });
    },
    ["a needless reset"],
  ],
  [
    "a prompt that the agent received twice",
    ({ starts }) => starts.set("prompt-1", 2),
    ["a prompt was started twice"],
  ],
  [
    "a prompt that was accepted as two turns",
    ({ prompts }) => prompts[0]!.answers.push(accepted("t2")),
    ["a prompt was accepted twice"],
  ],
  [
    "a prompt that was accepted and is nowhere",
    ({ prompts, starts }) => {
      prompts.push({ name: "prompt-4", sessionId: "ses_1", answers: [accepted("t4")] });
      starts.set("prompt-4", 1);
    },
    ["an accepted prompt has no outcome"],
  ],
  [
    "a turn that began and never finished",
    ({ journals, viewers, unnoticed }) => {
      unnoticed.pop();
      journals[0]!.entries.pop();
      for (const { seen } of viewers) seen.pop();
    },
    ["a turn never finished", "an accepted prompt has no outcome"],
  ],
  [
    "a turn that is called completed and was never run",
    ({ starts }) => starts.delete("prompt-1"),
    ["a turn is called completed that no agent ran"],
  ],
  [
    "a prompt that was refused and yet run",
    ({ starts }) => starts.set("prompt-3", 1),
    ["a prompt was refused and yet started"],
  ],
  [
    "a prompt that is never answered",
    ({ prompts }) => (prompts[2]!.answers = [refused(503, "unavailable", false)]),
    ["a prompt was not answered after the faults were over"],
  ],
  [
    "a session that is active with a dead agent",
    ({ sessions }) => (sessions[0]!.status = "active"),
    ["a session is active with a dead agent"],
  ],
  [
    "a process that was left",
    ({ processes }) => processes.push({ pid: 7, command: "sleep 600", afterMs: 60_000 }),
    ["a process was left"],
  ],
  [
    "the end of a turn that a viewer sees too late",
    ({ viewers }) => (viewers[1]!.seen[7]!.seenAt += 6_000),
    ["a viewer saw the end of a turn too late"],
  ],
];

for (const [what, plant, rules] of bugs) {
  test(`the checker of sessions notices ${what}`, () => {
    const history = goodSessions();
    plant(history);
    assert.deepEqual(sessionRules(history), rules);
  });
}

/** Two requests: one allowed from one node while the other is late, one whose answer was lost. */
function goodApprovals() {
  const entry = (seq: number, sessionUpdate: string, requestId: string): Entry => ({
    seq,
    at: at(seq),
    turnId: "t1",
    update: { sessionUpdate, requestId },
  });
  const answer = (node: string, given: "once" | "reject", told: string | undefined) => ({
    node,
    answer: given,
    told,
    tookMs: 20,
  });
  const approvals: Approval[] = [
    {
      name: "prompt-1",
      sessionId: "ses_1",
      records: [{ requestId: "req_1", status: "answered", answerable: false }],
      answers: [answer("1", "once", "answered"), answer("2", "reject", "already_resolved")],
      effects: 1,
      continued: 1,
      isWaiting: false,
    },
    {
      name: "prompt-2",
      sessionId: "ses_1",
      records: [{ requestId: "req_2", status: "answered", answerable: false }],
      answers: [answer("1", "once", "undeliverable"), answer("2", "reject", "undeliverable")],
      effects: 0,
      continued: 1,
      isWaiting: false,
    },
  ];
  return {
    approvals,
    journals: [
      {
        sessionId: "ses_1",
        entries: [
          entry(1, "request_raised", "req_1"),
          entry(2, "request_settled", "req_1"),
          entry(3, "request_raised", "req_2"),
          entry(4, "request_settled", "req_2"),
        ],
      },
    ],
    broken: [],
  } satisfies ApprovalsHistory;
}

type Approvals = ReturnType<typeof goodApprovals>;
const approvalRules = (history: ApprovalsHistory) => [
  ...new Set(checkApprovals(history).map(({ rule }) => rule)),
];

test("the checker of approvals finds nothing wrong with a good history", () => {
  assert.deepEqual(checkApprovals(goodApprovals()), []);
});

const approvalBugs: [what: string, plant: (history: Approvals) => void, rules: string[]][] = [
  [
    "an answer that was sent to the agent twice, and done twice",
    ({ approvals }) => (approvals[0]!.effects = 2),
    ["an answer was accepted twice"],
  ],
  [
    "an answer that made the agent go on twice",
    ({ approvals }) => (approvals[1]!.continued = 2),
    ["an answer was accepted twice"],
  ],
  [
    "two callers who both received answered",
    ({ approvals }) => (approvals[0]!.answers[1]!.told = "answered"),
    ["two answers to one request were confirmed"],
  ],
  [
    "a caller who received answered although the agent received nothing",
    ({ approvals }) => Object.assign(approvals[0]!, { effects: 0, continued: 0 }),
    ["an answer was confirmed and never accepted"],
  ],
  [
    "an agent that does what was refused",
    ({ approvals }) => {
      approvals[0]!.answers[0]!.told = "already_resolved";
      approvals[0]!.answers[1]!.told = "answered";
    },
    ["the agent did other than was answered"],
  ],
  [
    "an agent that does what nobody allowed",
    ({ approvals }) => {
      approvals[1]!.answers[0]!.answer = "reject";
      approvals[1]!.effects = 1;
    },
    ["the agent did what nobody allowed"],
  ],
  [
    "a withdrawn request that is still shown",
    ({ approvals }) => {
      approvals[1]!.records[0] = { requestId: "req_2", status: "pending", answerable: true };
    },
    ["a request is shown open that nobody waits for"],
  ],
  [
    "a request that is shown settled while the agent waits",
    ({ approvals }) => Object.assign(approvals[1]!, { continued: 0, isWaiting: true }),
    ["a request is shown settled that the agent waits for"],
  ],
  [
    "a request that is there twice",
    ({ approvals }) =>
      approvals[0]!.records.push({ requestId: "req_9", status: "withdrawn", answerable: false }),
    ["a request is not there once"],
  ],
  [
    "an answer that nobody took",
    ({ approvals }) => (approvals[0]!.answers[1]!.told = undefined),
    ["an answer was never answered by a node"],
  ],
  [
    "an answer that was refused",
    ({ approvals }) => (approvals[0]!.answers[1]!.told = "not_found"),
    ["an answer was refused"],
  ],
  [
    "a request that is settled twice in the log",
    ({ journals }) => journals[0]!.entries.push({ ...journals[0]!.entries[1]!, seq: 5 }),
    ["an entry was written twice"],
  ],
  [
    "a request that is settled and was never raised",
    ({ journals }) => {
      journals[0]!.entries[3]!.update = { sessionUpdate: "request_settled", requestId: "req_8" };
    },
    ["a request was settled that was never raised"],
  ],
];

for (const [what, plant, rules] of approvalBugs) {
  test(`the checker of approvals notices ${what}`, () => {
    const history = goodApprovals();
    plant(history);
    assert.deepEqual(approvalRules(history), rules);
  });
}

test("a viewer comes back where it was, after a cut, a refusal and a mark to resync", async () => {
  const entries = log();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const after = Number(new URL(request.url!, "http://x").searchParams.get("after"));
    asked.push(`${request.url} ${request.headers.authorization}`);
    if (asked.length === 2) {
      response.writeHead(503).end("busy");
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": hello\n\n");
    const next = entries.slice(after, after + (asked.length < 4 ? 3 : 8));
    for (const entry of next) {
      const data = JSON.stringify({ sessionId: "ses_1", ...entry });
      const frame = `id: ${entry.seq}\nevent: entry\ndata: ${data}\n\n`;
      // In two pieces, as a network may deliver it.
      response.write(frame.slice(0, 20));
      response.write(frame.slice(20));
    }
    response.write(`event: live\ndata: {"text":"x"}\n\n`);
    if (asked.length === 1) response.destroy();
    if (asked.length === 3) response.write("event: resync\ndata: {}\n\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bed = { key: "k", nodes: () => [{ baseUrl }] };
  {
    await using viewer = startViewer(bed, "viewer 1", "ses_1", 0);
    await until("it has seen the end", () => hasSeenEnd(viewer, "t2"));
    assert.deepEqual(
      checkSessions({ ...goodSessions(), viewers: [viewer.log], unnoticed: [] }),
      [],
    );
    assert.deepEqual([...viewer.refusals.keys()], ["503 busy"]);
    viewer.cut();
    await until("it is back", () => asked.length > 4);
  }
  const path = "/api/sessions/ses_1/events?after=";
  // The first connection broke before anything of it could be read, or after some of it.
  assert.equal(asked[0], `${path}0 Bearer k`);
  assert.equal(asked.at(-1), `${path}8 Bearer k`);
  server.closeAllConnections();
  server.close();
});

// The commands run for longer, with more of everything.
test("a short run of sessions, with everything around them killed once, breaks no promise", async () => {
  const sizes = { hosts: 1, sessions: 3, turns: 6, kills: 6, unnoticed: 1 };
  const kinds = AgentKind.options;
  const { violations, prompts, kills } = await runSessions({ seed: "ci", kinds, ...sizes });
  assert.deepEqual(violations, []);
  assert.ok(prompts.accepted >= sizes.turns && kills.length === sizes.kills);
});

test("a short run of approvals, with the daemon killed, breaks no promise", async () => {
  const sizes = { sessions: 2, requests: 6, kills: 2 };
  const { violations, told } = await runApprovals({ seed: "ci", ...sizes });
  assert.deepEqual(violations, []);
  assert.ok((told["answered"] ?? 0) > 0);
});
