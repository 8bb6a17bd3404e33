import assert from "node:assert/strict";
import { test } from "node:test";
import { actionNames } from "@hawser/contract";
import { guide } from "./guide.ts";

test("prompts and resources need actions that exist", () => {
  const known = new Set<string>(actionNames);
  for (const { name, needs } of [...guide.prompts, ...guide.resources]) {
    assert.ok(needs.length > 0, name);
    for (const need of needs) assert.ok(known.has(need), `${name}: ${need}`);
  }
});

test("open requests are read in pages, because a list without a cursor ends early", () => {
  const text = guide.prompts.find(({ name }) => name === "triage_requests")!.text({});
  assert.match(text, /search_requests/);
  assert.match(text, /nextCursor/);
  assert.doesNotMatch(text, /list_pending_requests/);
});

test("a transcript that is cut begins with a whole character", async () => {
  const transcript = guide.resources.find(({ name }) => name === "transcript")!;
  // The text has an odd number of code units before its pairs, and then an even number.
  for (const end of ["", "x"]) {
    const text = `${"😀".repeat(150_000)}${end}`;
    const content = { type: "text", text };
    const said = {
      sessionUpdate: "agent_message_chunk",
      parentToolCallId: null,
      messageId: "m",
      content,
    };
    const read = await transcript.read(() => Promise.resolve({ events: [{ update: said }] }), {
      sessionId: "s",
    });
    assert.ok(read.includes("😀😀"), "the message is in it");
    assert.ok(read.isWellFormed());
  }
});
