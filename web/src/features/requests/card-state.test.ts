import assert from "node:assert/strict";
import { test } from "node:test";
import type { Request } from "@hawser/client";
import { Refused, Unanswered } from "../../calls/refused.ts";
import { cardState, titleOf, type Press } from "./card-state.ts";

const request: Request = {
  requestId: "req_1",
  type: "permission",
  sessionId: "ses_1",
  instanceId: "ins_1",
  answerable: true,
  status: "pending",
  permission: { title: "Run a command", detail: "npm test", alwaysRules: ["bash: npm test"] },
  questions: null,
  rule: null,
  answer: null,
  answers: null,
  answeredBy: null,
  raisedAt: "2026-11-15T10:00:00.000Z",
  resolvedAt: null,
};
const jonas = { type: "user" as const, id: "usr_1", name: "Jonas" };
const ended = (
  status: string,
  record?: Partial<Request>,
  permission: "once" | "reject" = "once",
): Press => ({
  is: "ended",
  answer: { permission },
  status,
  record: record && { ...request, ...record },
});
const refused = (code: string, message: string): Press => ({
  is: "failed",
  answer: { permission: "once" },
  error: new Refused(409, { code, message, retry: "never" } as never),
});

for (const [what, record, press, number, text] of [
  ["answered", {}, ended("answered"), 1, "Allowed once. The agent took it."],
  [
    "rejected",
    {},
    ended("answered", undefined, "reject"),
    1,
    "Rejected. The agent goes on without it.",
  ],
  [
    "somebody else was first",
    {},
    ended("already_resolved", { status: "answered", answer: "reject", answeredBy: jonas }),
    2,
    "Jonas answered first: rejected. Your answer was not used.",
  ],
  [
    "settled on the host",
    {},
    ended("already_resolved", { status: "answered", answer: "once" }),
    2,
    "Settled on the host itself: allowed. Your answer was not used.",
  ],
  [
    "undeliverable",
    {},
    ended("undeliverable"),
    3,
    "Recorded, but the host could not be reached. It is not sent later by itself.",
  ],
  [
    "withdrawn while it was sent",
    {},
    ended("already_resolved", { status: "withdrawn" }),
    4,
    "The agent withdrew the request",
  ],
  ["withdrawn", { status: "withdrawn" }, undefined, 4, "The agent withdrew the request"],
  [
    "expired",
    { status: "expired" },
    undefined,
    5,
    "Nobody answered in time. The agent went on without it.",
  ],
  [
    "refused by the host",
    {},
    refused("host_refused", "It is busy."),
    6,
    "The host did not take the answer: It is busy.",
  ],
  ["gone", {}, refused("not_found", "No such request."), 6, "The session is gone"],
] as [string, Partial<Request>, Press | undefined, number, string][]) {
  test(`4.1 Request card: ${what} is end ${number}`, () => {
    const state = cardState({ ...request, ...record }, press);
    assert.ok(state.is === "ended");
    assert.deepEqual([state.end.number, state.end.text], [number, text]);
    assert.equal(
      state.end.leaves,
      number === 1,
      "only an answer that the agent took leaves by itself",
    );
    assert.equal(state.end.canSendAgain, number === 3);
  });
}

test("4.1 Request card: an answer looks like nothing but sending until the service has said what became of it", () => {
  const sending = { is: "sending", answer: { permission: "once" }, isSlow: false } as const;
  assert.deepEqual(cardState(request, sending), sending);
});

test("4.1 Request card: a call without an answer gives the buttons back, with what is known", () => {
  const state = cardState(request, {
    is: "failed",
    answer: { permission: "once" },
    error: new Unanswered("Hawser did not answer."),
  });
  assert.deepEqual(state, { is: "open", problem: "Hawser did not answer." });
});

test("4.1 Request card: the title is one sentence with the agent", () => {
  assert.equal(titleOf(request, "Claude Code"), "Claude Code wants to run a command");
  const plan = { ...request, permission: { ...request.permission!, title: "Carry out the plan" } };
  assert.equal(titleOf(plan, "Codex"), "Codex asks: Carry out the plan");
});
