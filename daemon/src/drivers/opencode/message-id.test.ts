// Message ids that sort like opencode's own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { messageIdFor } from "./message-id.ts";

test("ids have opencode's format and time", () => {
  assert.match(messageIdFor("one", 1_794_725_585_922), /^msg_1ddfb2402001[0-9a-f]{14}$/);
});

test("ids made in the same millisecond sort in the order they were made", () => {
  const now = Date.now();
  const ids = Array.from({ length: 100 }, (_, index) => messageIdFor(`m-${index}`, now));
  assert.deepEqual(ids.toSorted(), ids);
});
