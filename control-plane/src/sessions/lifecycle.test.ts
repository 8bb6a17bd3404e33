// Every status with every trigger. A change of the lifecycle table is a change of this table.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SessionStatus } from "@hawser/contract";
import { isOver, movedBy, statusAfter, triggers, type Trigger } from "./lifecycle.ts";

/** Columns: active, detached, error, ended, cleanup_failed. A dot: nothing changes. */
const expected: Record<Trigger, string> = {
  started: ". . active . .",
  start_unknown: "error . . . .",
  turn_started: ". active active . .",
  reported_active: ". active active . .",
  reported_detached: "detached . detached . .",
  reported_error: "error error error . .",
  reported_ended: "ended ended ended . ended",
  reported_cleanup_failed: "cleanup_failed cleanup_failed cleanup_failed . cleanup_failed",
  cleaned_up: "ended ended ended . ended",
  cleanup_owed: "cleanup_failed cleanup_failed cleanup_failed . cleanup_failed",
  host_replaced: "error error error . .",
  journal_lost: "error error error . .",
};

test("every pair of status and trigger leads where the table says", () => {
  assert.deepEqual(Object.keys(expected).sort(), [...triggers].sort());
  for (const trigger of triggers) {
    const found = SessionStatus.options.map((status) => statusAfter(status, trigger) ?? ".");
    assert.equal(found.join(" "), expected[trigger], trigger);
  }
});

test("nothing leads out of ended, and from cleanup_failed only to ended", () => {
  for (const trigger of triggers) {
    assert.equal(statusAfter("ended", trigger), undefined, trigger);
    const next = statusAfter("cleanup_failed", trigger) ?? "cleanup_failed";
    assert.ok(isOver(next), trigger);
  }
});

test("what a statement about many sessions changes is what the table changes", () => {
  for (const trigger of triggers) {
    const moved = SessionStatus.options.filter((status) => statusAfter(status, trigger));
    assert.deepEqual(movedBy(trigger).sort(), moved.sort(), trigger);
  }
});
