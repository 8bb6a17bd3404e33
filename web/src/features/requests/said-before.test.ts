import assert from "node:assert/strict";
import { test } from "node:test";
import { saidBefore } from "./said-before.ts";

type Entry = Parameters<typeof saidBefore>[0][number];

const entry = (seq: number, update: object, turnId = "t1") =>
  ({ seq, at: "2026-11-15T10:00:00.000Z", turnId, update }) as Entry;
const said = (seq: number, text: string, about: object = {}) => {
  const content = { type: "text", text };
  const update = { sessionUpdate: "agent_message_chunk", content, parentToolCallId: null };
  return entry(seq, { ...update, ...about });
};
const asks = (seq: number, requestId: string, turnId?: string) =>
  entry(seq, { sessionUpdate: "request_raised", requestId }, turnId);

for (const [what, events, expected] of [
  ["the last paragraph, on one line", [said(1, "a\n\nb\n  c\n\n"), asks(2, "r")], "b c"],
  ["the newest text", [said(1, "a"), said(2, "b"), asks(3, "r")], "b"],
  ["no text from after the request", [said(1, "a"), asks(2, "r"), said(3, "b")], "a"],
  ["no text of a sub-agent", [said(1, "b", { parentToolCallId: "c" }), asks(2, "r")], undefined],
  ["no text of another turn", [said(1, "a"), asks(2, "r", "t2")], undefined],
  ["no text without the request", [said(1, "a"), asks(2, "other")], undefined],
] as const) {
  test(`above a request stands ${what}`, () => {
    assert.equal(saidBefore(events, "r"), expected);
  });
}
