import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, valuesIn } from "./guide.ts";

const template = "toy://counts/{name}/whole";

test("an address has the values that were filled in", () => {
  const uri = addressOf(template, { name: "c1", other: 7 });
  assert.equal(uri, "toy://counts/c1/whole");
  assert.deepEqual({ ...valuesIn(uri, template) }, { name: "c1" });
});

test("there is no address if a value is missing or is not an id", () => {
  for (const name of [undefined, 7, "", "a/b", "a?b", "n".repeat(101)]) {
    assert.equal(addressOf(template, { name }), undefined, String(name));
  }
});
