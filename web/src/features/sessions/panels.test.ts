// Which panels a session has, and which keys show them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { panelKey, panelsOf, shownOf } from "./panels.ts";

const plain = { altKey: false, ctrlKey: false, metaKey: false };

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

test("7 Keyboard: Alt and a digit shows the tab in that place, also while a person types", () => {
  const tabs = ["changes", "details"] as const;
  const press = (key: object) => panelKey({ ...plain, code: "", ...key }, tabs);
  assert.equal(press({ altKey: true, code: "Digit2" }), "details");
  assert.equal(press({ altKey: true, code: "Digit4" }), undefined);
  assert.equal(press({ altKey: true, metaKey: true, code: "Digit2" }), undefined);
  assert.equal(press({ code: "Digit2" }), undefined);
});
