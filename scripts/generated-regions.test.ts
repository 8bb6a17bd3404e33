import assert from "node:assert/strict";
import { test } from "node:test";
import { fillRegions } from "./generated-regions.ts";

const texts = { counts: () => "Two of three." };

test("a generated part is replaced, and the text around it stays", () => {
  const before = "One.\n<!-- generated: counts -->\nold\n<!-- generated end -->\nLast.\n";
  const after =
    "One.\n<!-- generated: counts -->\n\nTwo of three.\n\n<!-- generated end -->\nLast.\n";
  assert.equal(fillRegions(before, texts), after);
  assert.equal(fillRegions(after, texts), after);
});

test("a part with an unknown name or without an end is an error", () => {
  const unknown = "<!-- generated: other -->\n<!-- generated end -->";
  assert.throws(() => fillRegions(unknown, texts), /called other/);
  assert.throws(() => fillRegions("<!-- generated: counts -->\nold", texts), /no end/);
});
