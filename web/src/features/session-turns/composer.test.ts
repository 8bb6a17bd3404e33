import assert from "node:assert/strict";
import { test } from "node:test";
import { createEscape, sends } from "./composer-keys.ts";
import { createDrafts, type Draft, type Drafts, type SendingPrompt } from "../drafts/on-device.ts";
import { createPrompts } from "./prompts.ts";

const enter = {
  key: "Enter",
  keyCode: 13,
  isComposing: false,
  hasShift: false,
  hasCommand: false,
  isTouch: false,
};

for (const [what, key, isSent] of [
  ["Enter sends", enter, true],
  ["Shift+Enter is a new line", { ...enter, hasShift: true }, false],
  ["Command+Enter always sends", { ...enter, hasCommand: true, isTouch: true }, true],
  ["on touch Enter is a new line", { ...enter, isTouch: true }, false],
  ["Enter during composition does not send", { ...enter, isComposing: true }, false],
  ["nor does Safari's Enter at its end, with code 229", { ...enter, keyCode: 229 }, false],
  ["another key does not send", { ...enter, key: "a" }, false],
] as const) {
  test(`4.1 Composer: ${what}`, () => assert.equal(sends(key), isSent));
}

test("4.1 Composer: Esc leaves, and twice within 600 ms stops", () => {
  const escape = createEscape();
  assert.deepEqual(
    [escape(0), escape(700), escape(1_200), escape(1_300)],
    ["leave", "leave", "stop", "leave"],
  );
});

function device() {
  const kept = new Map<string, Draft>();
  const drafts: Drafts = {
    get: (key) => Promise.resolve(kept.get(key) ?? { text: "", sending: [] }),
    set: (key, draft) => void kept.set(key, draft),
    clear: () => Promise.resolve(kept.clear()),
    written: () => new Set(),
    subscribe: () => () => {},
  };
  return { kept, drafts };
}

/** A service that answers when the test says so. */
function service() {
  const calls: {
    text: string;
    key: string;
    answer: (messageId: string) => void;
    refuse: (error: Error) => void;
  }[] = [];
  const send = ({ text, idempotencyKey: key }: SendingPrompt) =>
    new Promise<{ messageId: string }>((resolve, reject) => {
      calls.push({ text, key, answer: (messageId) => resolve({ messageId }), refuse: reject });
    });
  return { calls, send };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("4.1 Composer: a draft is kept per person and session, as it was typed", async () => {
  const { kept, drafts } = device();
  const { send } = service();
  const one = createPrompts("mira ses_1", drafts, send);
  const other = createPrompts("mira ses_2", drafts, send);
  one.setDraft("for one");
  other.setDraft("for two");
  assert.deepEqual(
    [...kept].map(([key, { text }]) => [key, text]),
    [
      ["mira ses_1", "for one"],
      ["mira ses_2", "for two"],
    ],
  );
  assert.equal(await createPrompts("jonas ses_1", drafts, send).load(), "");
  assert.equal(await createPrompts("mira ses_1", drafts, send).load(), "for one");
});

test("4.1 Prompt: pending until the log has its message, then gone; the text does not come back", async () => {
  const { kept, drafts } = device();
  const { send, calls } = service();
  const prompts = createPrompts("k", drafts, send);
  prompts.setDraft("hello");
  prompts.send("hello");
  assert.equal(prompts.get()[0]!.state, "sending");
  assert.deepEqual(kept.get("k"), {
    text: "",
    sending: [{ text: "hello", idempotencyKey: calls[0]!.key }],
  });
  calls[0]!.answer("m1");
  await settled();
  prompts.seen(() => false);
  assert.equal(prompts.get()[0]!.state, "sent");
  prompts.seen((messageId) => messageId === "m1");
  assert.deepEqual(prompts.get(), []);
  assert.deepEqual(kept.get("k"), { text: "", sending: [] });
});

test("4.1 Composer: a prompt from elsewhere leaves the draft alone, also one that was not read yet", async () => {
  const { kept, drafts } = device();
  const { send, calls } = service();
  createPrompts("k", drafts, send).setDraft("typed");
  const prompts = createPrompts("k", drafts, send);
  const idempotencyKey = await prompts.sendBeside("comments");
  assert.deepEqual(kept.get("k"), {
    text: "typed",
    sending: [{ text: "comments", idempotencyKey }],
  });
  assert.deepEqual([calls[0]!.text, calls[0]!.key], ["comments", idempotencyKey]);
  assert.equal(await prompts.load(), "typed");
});

test("4.1 Prompt: one that was not sent stays with its text, and is tried again with the same key", async () => {
  const { drafts } = device();
  const { send, calls } = service();
  const prompts = createPrompts("k", drafts, send);
  prompts.send("hello");
  calls[0]!.refuse(new Error("The host is offline."));
  await settled();
  const [failed] = prompts.get();
  assert.deepEqual(
    [failed!.state, (failed!.error as Error).message],
    ["failed", "The host is offline."],
  );
  prompts.again(failed!.idempotencyKey);
  assert.deepEqual([calls[1]!.text, calls[1]!.key], ["hello", calls[0]!.key]);
  calls[1]!.refuse(new Error("Again."));
  await settled();
  assert.equal(prompts.takeBack(failed!.idempotencyKey)?.text, "hello");
  assert.deepEqual(prompts.get(), []);
});

test("a page that was closed while it sent asks again with the same key", async () => {
  const { drafts } = device();
  const before = service();
  createPrompts("k", drafts, before.send).send("hello");
  const after = service();
  const prompts = createPrompts("k", drafts, after.send);
  assert.equal(await prompts.load(), "", "a text that was sent never fills the composer");
  assert.deepEqual([after.calls[0]!.text, after.calls[0]!.key], ["hello", before.calls[0]!.key]);
});

test("without a database on the device the draft lives as long as the page", async () => {
  const drafts = createDrafts(undefined);
  drafts.set("k", { text: "x", sending: [] });
  assert.equal((await drafts.get("k")).text, "x");
  await drafts.clear();
  assert.equal((await drafts.get("k")).text, "");
});
