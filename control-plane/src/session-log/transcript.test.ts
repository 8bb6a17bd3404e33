import assert from "node:assert/strict";
import { test } from "node:test";
import { passagesOf } from "./transcript.ts";

const call = (title: string) => ({
  sessionUpdate: "tool_call",
  toolCallId: "c1",
  parentToolCallId: null,
  title,
  kind: "execute",
  status: "pending",
  rawInput: {},
});

test("a long title is shortened between two characters", () => {
  for (const title of [`echo xx${"😀".repeat(200)}`, `echo x${"😀".repeat(200)}`]) {
    const [passage = ""] = passagesOf([call(title)]);
    assert.ok(passage.startsWith("- echo x"), passage);
    assert.ok(passage.isWellFormed());
    assert.ok([...passage].length < 250);
  }
});

test("a short title stays as it is", () => {
  assert.deepEqual(passagesOf([call("echo 😀")]), ["- echo 😀 (has not ended)"]);
});
