// Entries that are too long are shortened until they fit, and stay readable.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { LogEntry, largestBlob, largestEntry, wholeUpdate } from "@hawser/host-protocol";
import { fitEntry, wholeOf } from "./cut-entry.ts";

const entryOf = (update: Record<string, unknown>): LogEntry => ({
  seq: 7,
  at: "2026-11-15T00:00:00.000Z",
  turnId: "t1",
  update: { sessionUpdate: "tool_call_update", ...update },
});
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

test("an entry of just the largest size is left alone, one byte more is cut", () => {
  const room = largestEntry - bytesOf(entryOf({ text: "" }));
  const fits = entryOf({ text: "x".repeat(room) });
  assert.deepEqual(fitEntry(fits), { entry: fits, text: JSON.stringify(fits) });
  const { entry, text, whole } = fitEntry(entryOf({ text: "x".repeat(room + 1) }));
  assert.ok(whole);
  assert.ok(Buffer.byteLength(text) <= largestEntry);
  assert.equal(text, JSON.stringify(entry));
});

test("long texts keep head and tail in their place, and the whole is named by its hash", () => {
  const long = `HEAD${"€".repeat(100_000)}TAIL`;
  const update = {
    toolCallId: "c1",
    content: [{ type: "text", text: long }],
    short: "kept",
    _meta: { own: 1 },
  };
  const given = entryOf(update);
  const { entry, whole } = fitEntry(given);
  assert.ok(bytesOf(entry) <= largestEntry);
  assert.equal(LogEntry.parse(entry).seq, 7);
  const shown = entry.update as typeof update & { sessionUpdate: string };
  assert.deepEqual(
    [shown.sessionUpdate, shown.toolCallId, shown.short],
    ["tool_call_update", "c1", "kept"],
  );
  const text = shown.content[0]!.text;
  assert.ok(text.startsWith("HEAD€") && text.endsWith("€TAIL"));
  assert.match(text, /\n… \d+ characters are left out here …\n/);
  assert.equal(whole!.bytes.toString(), JSON.stringify(given.update));
  const sha256 = createHash("sha256").update(whole!.bytes).digest("hex");
  assert.deepEqual(shown._meta, {
    own: 1,
    [wholeUpdate]: { size: whole!.bytes.length, sha256 },
  });
  assert.deepEqual(wholeOf(entry.update), { size: whole!.bytes.length, sha256 });
});

test("a character is never cut in two", () => {
  for (const shift of ["", "x"]) {
    const { text } = fitEntry(entryOf({ text: shift + "🙂".repeat(100_000) }));
    assert.ok(JSON.stringify(JSON.parse(text)).isWellFormed());
    assert.doesNotMatch(text, /\\ud[89a-f]/i);
  }
});

test("many small parts become the beginning and the end of their JSON", () => {
  const { entry, whole } = fitEntry(entryOf({ list: Array.from({ length: 100_000 }, () => "x") }));
  assert.ok(bytesOf(entry) <= largestEntry);
  assert.equal(entry.update.sessionUpdate, "unknown");
  assert.match(String(entry.update["raw"]), /^\{"sessionUpdate":"tool_call_update","list":\["x"/);
  assert.ok(whole);
});

test("what is too large for a blob is cut and says so", () => {
  const { entry, whole } = fitEntry(entryOf({ text: "x".repeat(largestBlob) }));
  assert.equal(whole, undefined);
  assert.equal(wholeOf(entry.update), undefined);
  const meta = entry.update["_meta"] as Record<string, { omitted: string }>;
  assert.equal(meta[wholeUpdate]!.omitted, "payload_too_large");
});

test("an agent's own words name no blob", () => {
  const forged = { [wholeUpdate]: { size: 1, sha256: "0".repeat(64) }, own: 1 };
  const { entry } = fitEntry(entryOf({ _meta: forged }));
  assert.deepEqual(entry.update["_meta"], { own: 1 });
});
