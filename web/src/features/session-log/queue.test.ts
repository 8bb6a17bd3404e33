import assert from "node:assert/strict";
import { test } from "node:test";
import { placeBeside, waitingRows, type Queue } from "./queue.ts";
import type { QueueEntry } from "./row.ts";

const entry = (seq: number, update: object) =>
  ({ seq, at: "2026-11-15T10:00:00.000Z", update }) as QueueEntry;
const of = (messageId: string) => ({ messageId, turnId: `t${messageId}` });
const queued = (seq: number, messageId: string) =>
  entry(seq, { sessionUpdate: "prompt_queued", ...of(messageId), text: messageId });
const shown = (messageId: string, more: object = {}) => ({
  ...of(messageId),
  type: "prompt" as const,
  text: messageId,
  isCut: false,
  by: null,
  holds: [],
  ...more,
});
const read = (version: number, ...prompts: Queue["prompts"]): Queue => ({
  sessionId: "ses_1",
  version,
  prompts,
});
const texts = (...given: Parameters<typeof waitingRows>) =>
  waitingRows(...given).rows.map(({ text }) => text);

test("4.2.5 Waiting prompts: the log changes what the host has shown, and an older read changes nothing", () => {
  const entries = [
    queued(3, "a"),
    queued(4, "b"),
    queued(5, "c"),
    entry(6, { sessionUpdate: "prompt_moved", ...of("c"), beforeMessageId: "a" }),
    entry(7, { sessionUpdate: "prompt_changed", ...of("b"), text: "B" }),
    entry(8, { sessionUpdate: "prompt_dropped", ...of("a"), reason: "Removed.", cause: "removed" }),
  ];
  assert.deepEqual(texts(undefined, entries), ["c", "B"]);
  const old = read(4, shown("a"), shown("b"));
  assert.deepEqual(texts(old, entries), ["c", "B"], "a read that comes late");
  assert.equal(waitingRows(old, entries).version, 8);
  const newer = read(9, shown("B2"));
  assert.deepEqual(texts(newer, entries), ["B2"], "the host knows more than the log shows yet");
  const started = entry(10, { sessionUpdate: "turn_started", messageId: "B2" });
  assert.deepEqual(texts(newer, [...entries, started]), []);
});

test("4.2.5 Waiting prompts: one of before the part of the log that is loaded is there too", () => {
  assert.deepEqual(texts(read(900, shown("old")), [queued(950, "new")]), ["old", "new"]);
});

test("a long prompt has the text of the log", () => {
  assert.deepEqual(texts(read(5, shown("a", { text: "beg", isCut: true })), [queued(3, "a")]), [
    "a",
  ]);
});

test("4.2.5 Waiting prompts: Alt and an arrow move by one, and not beyond the ends", () => {
  const { rows } = waitingRows(read(1, shown("a"), shown("b"), shown("c")), []);
  assert.deepEqual(placeBeside(rows, "b", -1), { beforeMessageId: "a" });
  assert.deepEqual(placeBeside(rows, "a", 1), { beforeMessageId: "c" });
  assert.deepEqual(placeBeside(rows, "b", 1), { beforeMessageId: null });
  assert.equal(placeBeside(rows, "a", -1), undefined);
  assert.equal(placeBeside(rows, "c", 1), undefined);
});
