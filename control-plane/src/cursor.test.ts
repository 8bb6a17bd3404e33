import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "@hawser/contract";
import { lastId, page, readCursor, readIdCursor } from "./cursor.ts";

const id = "01a1dcb3-708b-7ba5-8f6d-438dd495d039";
const rows = [1, 2, 3].map((n) => ({ name: `n ${n}`, id }));

test("a page ends where the next begins, and the last page has no cursor", () => {
  const first = page(rows, 2, (row) => [row.name, row.id]);
  assert.equal(first.rows.length, 2);
  assert.deepEqual(readCursor(first.nextCursor!, 2), ["n 2", id]);
  assert.equal(page(rows, 3, (row) => [row.name, row.id]).nextCursor, null);
});

test("a text that is no cursor of this listing is refused", () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const bad = [
    "",
    "zz",
    "%",
    encode([id]),
    encode(["a", "not an id"]),
    encode([1, id]),
    encode(["\0", id]),
    encode({}),
    encode(null),
  ];
  for (const cursor of bad) {
    assert.throws(
      () => readCursor(cursor, 2),
      (error) => error instanceof Refusal && error.code === "invalid_input",
      cursor,
    );
  }
});

test("without a cursor a listing of the newest begins after every id", () => {
  assert.equal(readIdCursor(undefined), lastId);
});
