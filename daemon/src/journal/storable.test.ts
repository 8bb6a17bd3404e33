import assert from "node:assert/strict";
import { test } from "node:test";
import { storable } from "./storable.ts";

test("what cannot be stored is replaced, at every depth, and the rest is left alone", () => {
  assert.deepEqual(storable({ a: "x\0y", b: ["\ud800", { "k\0": "🙂" }], n: 1, z: null }), {
    a: "x\u{fffd}y",
    b: ["\u{fffd}", { "k\u{fffd}": "🙂" }],
    n: 1,
    z: null,
  });
});
