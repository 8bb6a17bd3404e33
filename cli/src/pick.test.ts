import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "./nearest.ts";
import { pick } from "./pick.ts";
import { safeJson, safeText } from "./terminal.ts";

const answer = {
  model: { id: "m" },
  sessions: [
    { title: null, id: "ses_1", seq: 0, live: false },
    { title: "Fix", id: "ses_2", model: "big" },
  ],
  tags: ["a", "b"],
};

for (const [field, value] of [
  ["id", "m"],
  ["seq", 0],
  ["live", false],
  ["title", "Fix"],
  ["model", "big"],
  ["tags", ["a", "b"]],
  ["0", undefined],
  ["none", undefined],
] as const) {
  test(`the first value of ${field} is ${JSON.stringify(value)}`, () => {
    assert.deepEqual(pick(answer, field), value);
  });
}

for (const [typed, name] of [
  ["list_instance", "list_instances"],
  ["listInstances", "list_instances"],
  ["list-sessions", "list_sessions"],
  ["snd_prompt", "send_prompt"],
  ["make_coffee", undefined],
] as const) {
  test(`${typed} is near ${name}`, () => {
    assert.equal(nearest(typed, ["list_instances", "list_sessions", "send_prompt"]), name);
  });
}

test("JSON has no character that a terminal obeys, and is the same value", () => {
  const hostile = {
    text: "\u001b[2J\u009b1m\u007f\u202e\u200b\u{e0041}\\u{e0041}\r\n\ud800",
    "\u001b": 1,
  };
  for (const isIndented of [false, true]) {
    const text = safeJson(hostile, isIndented);
    assert.match(text, /^[ -~\n]+$/);
    assert.deepEqual(JSON.parse(text), hostile);
  }
});

test("text keeps its line breaks and shows everything else that a terminal obeys", () => {
  assert.equal(
    safeText("a\tb\r\nc\rd\u001b]0;x\u0007\u009b"),
    "a    b\nc\\u000dd\\u001b]0;x\\u0007\\u009b",
  );
});
