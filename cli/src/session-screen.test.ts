import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import type { SessionStreamEvent, SessionUpdate } from "@hawser/client";
import { openScreen } from "./session-screen.ts";

type Live = Extract<SessionStreamEvent, { type: "live" }>;

const entry = (update: SessionUpdate) => ({
  type: "entry" as const,
  sessionId: "ses_1",
  seq: 1,
  at: "",
  turnId: null,
  update,
});
const message = (text: string, messageId = "m") =>
  entry({
    sessionUpdate: "agent_message_chunk",
    messageId,
    content: { type: "text", text },
    parentToolCallId: null,
  });
const finished = entry({ sessionUpdate: "turn_finished", outcome: "completed", reason: null });
const live = (text: string, offset: number, itemId = "m"): Live => ({
  type: "live",
  sessionId: "ses_1",
  itemId,
  turnId: null,
  kind: "message",
  text,
  offset,
});

function shown(columns: number | undefined, ...events: SessionStreamEvent[]): string {
  let text = "";
  const screen = openScreen((part) => (text += part), columns);
  for (const event of events) {
    if (event.type === "entry") screen.entry(event);
    if (event.type === "live") screen.live(event);
  }
  return text;
}

const hello = "agent:\n  Hello, world.\nturn completed\n";
const cases: [name: string, expected: string, ...events: SessionStreamEvent[]][] = [
  ["a whole message", hello, message("Hello, world."), finished],
  [
    "pieces and the whole",
    hello,
    live("Hello", 0),
    live(", world.", 5),
    message("Hello, world."),
    finished,
  ],
  ["pieces and a rest", hello, live("Hello", 0), message("Hello, world."), finished],
  [
    "a piece that is sent again",
    hello,
    live("Hello", 0),
    live("Hello, w", 0),
    message("Hello, world."),
    finished,
  ],
  ["a lost piece", hello, live("Hello", 0), live("orld.", 8), message("Hello, world."), finished],
  [
    "another text than the pieces",
    `agent:\n  Bye\n${hello}`,
    live("Bye", 0),
    message("Hello, world."),
    finished,
  ],
  [
    "another entry between the pieces and the whole",
    "agent:\n  Hello\nturn completed\nagent:\n  , world.\n",
    live("Hello", 0),
    finished,
    message("Hello, world."),
  ],
];
for (const [name, expected, ...events] of cases) {
  test(`text while it is written: ${name}`, () => {
    assert.equal(shown(80, ...events), expected);
  });
}

test("what is no terminal gets whole texts only", () => {
  assert.equal(shown(undefined, live("Hello", 0), message("Hello, world."), finished), hello);
});

test("a label of an agent cannot leave the quotes of the command that answers it", () => {
  const label = "'; touch owned; '\u001b";
  const asked = shown(
    undefined,
    entry({
      sessionUpdate: "request_raised",
      requestId: "req_1",
      type: "question",
      permission: null,
      questions: [
        {
          question: "Which?",
          options: [{ label, description: null }],
          multiple: false,
          freeText: false,
        },
      ],
      shownHash: "",
      toolCallId: null,
    }),
  );
  assert.match(asked, /^[\n\x20-\x7e]*$/);
  const [, command] = /for example: hawser call answer_question (.*)$/m.exec(asked)!;
  const body = execFileSync("sh", ["-c", `printf %s ${command}`], { encoding: "utf8" });
  assert.deepEqual(JSON.parse(body), { requestId: "req_1", answers: [[label]] });
});

test("a heading has no control characters, whatever ids and codes the service sends", () => {
  const bad = "\u001b]0;x\u0007\u009b31m";
  const updates = [
    { sessionUpdate: "turn_continued", sessionId: bad, kind: bad },
    { sessionUpdate: "session_status", status: bad, reason: bad },
    { sessionUpdate: "request_settled", outcome: bad, answer: bad, reason: null },
    { sessionUpdate: "session_reverted", messageId: bad },
  ];
  for (const update of updates) {
    const text = shown(80, entry(update as unknown as SessionUpdate));
    assert.match(text, /^[\n\x20-\x7e]*$/, update.sessionUpdate);
  }
});

test("an entry of a later version is passed over", () => {
  assert.equal(shown(80, entry({ sessionUpdate: "of_tomorrow" } as unknown as SessionUpdate)), "");
});
