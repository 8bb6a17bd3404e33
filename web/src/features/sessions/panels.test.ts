// Which panels a session has.
import assert from "node:assert/strict";
import { test } from "node:test";
import { panelsOf, shownOf } from "./panels.ts";

test("3.1 a panel without data of the agent is absent, not greyed out", () => {
  assert.deepEqual(panelsOf({ capabilities: [] }), ["details"]);
  assert.deepEqual(panelsOf({ capabilities: ["diff"] }), ["changes", "details"]);
});

test("9 Phone: the conversation is a tab where there is no room beside it", () => {
  const panels = panelsOf({ capabilities: ["diff"] });
  assert.deepEqual(shownOf(panels, undefined, true), {
    tabs: ["talk", "changes", "details"],
    value: "talk",
  });
  assert.equal(shownOf(panels, "details", true).value, "details");
  assert.equal(shownOf(panels, undefined, false).value, "changes");
  assert.equal(shownOf(["details"], "changes", true).value, "talk", "a panel that is absent");
});
