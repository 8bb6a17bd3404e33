import assert from "node:assert/strict";
import { test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { makeRequestId } from "./ids.ts";

test("the id of a request has the time of the host and the shard of its session", () => {
  const session = formatId("session", "01920000-0000-7000-a5f0-000000000000");
  const at = Date.parse("2026-11-16T02:00:00Z");
  const ids = Array.from({ length: 50 }, () => parseId("request", makeRequestId(at, session))!);
  assert.equal(new Set(ids).size, 50);
  for (const id of ids) {
    assert.equal(Number.parseInt(id.replace("-", "").slice(0, 12), 16), at);
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-a5f[0-9a-f]-[0-9a-f]{12}$/);
  }
  const ofOther = parseId("request", makeRequestId(at, "no id of a session"))!;
  assert.match(ofOther, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/);
});
