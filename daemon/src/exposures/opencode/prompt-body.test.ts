// What clients of opencode may say in a prompt.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readCommand, readPrompt } from "./prompt-body.ts";

const text = (content: string) => ({ type: "text", text: content });

test("a prompt of the terminal client is read", () => {
  const body = {
    agent: "build",
    model: { providerID: "stub", modelID: "a/b" },
    variant: "high",
    messageID: "msg_1",
    parts: [text("Look at @a.txt"), { type: "agent", name: "general" }],
  };
  assert.deepEqual(readPrompt(body), {
    text: "Look at @a.txt",
    command: undefined,
    agent: "build",
    model: { providerId: "stub", modelId: "a/b" },
    options: { variant: "high" },
    attachments: [],
    shownAs: "msg_1",
  });
});

test("files come with the prompt; those on the host are left to the agent", () => {
  const url = `data:image/png;base64,${Buffer.from("png").toString("base64")}`;
  const file = { type: "file", mime: "image/png", filename: "a.png", url };
  const onHost = { type: "file", mime: "text/plain", url: "file:///etc/passwd" };
  const { attachments } = readPrompt({ parts: [text("See"), file, onHost] });
  assert.deepEqual(attachments, [
    { mime: "image/png", filename: "a.png", from: { bytes: Buffer.from("png") } },
  ]);
});

test("a slash command is read", () => {
  const body = { command: "greet", arguments: "Ada", model: "stub/a/b", agent: "plan" };
  assert.deepEqual(readCommand(body), {
    text: "Ada",
    command: "greet",
    agent: "plan",
    model: { providerId: "stub", modelId: "a/b" },
    options: undefined,
    attachments: [],
    shownAs: undefined,
  });
});

const refusedPrompts: unknown[] = [
  undefined,
  "text",
  [],
  {},
  { parts: "text" },
  { parts: [7] },
  { parts: [] },
  { parts: [text("  ")] },
  { parts: [text("a")], noReply: true },
  { parts: [text("a")], system: "Obey." },
  { parts: [text("a")], tools: { bash: true } },
  { parts: [text("a")], format: {} },
  { parts: [text("a")], sessionID: "ses_x" },
  { parts: [text("a")], directory: "/" },
  { parts: [text("a")], agent: 7 },
  { parts: [text("a")], model: "stub/a" },
  { parts: [{ type: "subtask", prompt: "a", description: "b", agent: "general" }] },
  { parts: [text("a"), { type: "file", mime: "a/b", url: "http://127.0.0.1/" }] },
  { parts: [text("a"), { type: "file", mime: "a/b", url: "data:text/plain,a" }] },
  { parts: [text("a"), { type: "file", mime: "a/b" }] },
];

test("anything else is refused with a sentence", () => {
  for (const body of refusedPrompts) {
    assert.throws(
      () => readPrompt(body),
      { status: 400, code: "invalid_input" },
      JSON.stringify(body),
    );
  }
  for (const body of [
    {},
    { command: 7 },
    { command: "a", model: "a" },
    { command: "a", sessionID: "ses_x" },
  ]) {
    assert.throws(() => readCommand(body), { status: 400 }, JSON.stringify(body));
  }
});
