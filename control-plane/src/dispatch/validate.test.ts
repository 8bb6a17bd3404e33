import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal, action, text, type FieldError } from "@hawser/contract";
import { z } from "zod";
import { validate } from "./validate.ts";

const sample = action({
  summary: "A sample.",
  group: "things",
  permission: null,
  effect: "reads",
  reach: "records",
  input: z.strictObject({
    name: text({ min: 1, max: 3 }),
    count: z.int().min(1).max(9).optional(),
    kind: z.enum(["a", "b"]).optional(),
    list: z
      .array(z.strictObject({ id: z.string() }))
      .min(1)
      .max(2)
      .optional(),
    options: z.record(z.string(), z.string()).optional(),
  }),
  result: z.strictObject({}),
  refusals: [],
});

function fieldsOf(body: unknown): FieldError[] | undefined {
  try {
    validate(sample, body);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, "invalid_input");
    return error.details.fields ?? [];
  }
}

const cases: [what: string, body: unknown, expected: FieldError[]][] = [
  ["a missing field", {}, [{ field: "name", message: "is required" }]],
  ["a wrong type", { name: 5 }, [{ field: "name", message: "must be a string" }]],
  [
    "an undeclared field",
    { name: "n", zz: 1 },
    [{ field: "zz", message: "is not a field of this action" }],
  ],
  [
    "several faults at once",
    { name: "", zz: 1 },
    [
      { field: "name", message: "must not be empty" },
      { field: "zz", message: "is not a field of this action" },
    ],
  ],
  [
    "a text too long, in emoji",
    { name: "🙂🙂🙂🙂" },
    [{ field: "name", message: "must have at most 3 characters" }],
  ],
  ["a fraction", { name: "n", count: 1.5 }, [{ field: "count", message: "must be an integer" }]],
  [
    "an infinite number",
    { name: "n", count: Infinity },
    [{ field: "count", message: "must be a number" }],
  ],
  [
    "an unknown word",
    { name: "n", kind: "c" },
    [{ field: "kind", message: 'must be one of "a", "b"' }],
  ],
  ["an empty list", { name: "n", list: [] }, [{ field: "list", message: "must not be empty" }]],
  [
    "an undeclared field inside a list",
    { name: "n", list: [{ id: "x", zz: 1 }] },
    [{ field: "list[0].zz", message: "is not a field of this action" }],
  ],
  [
    "a NUL character",
    { name: "a\0" },
    [{ field: "name", message: "must not hold a NUL character" }],
  ],
  [
    "half a surrogate pair",
    { name: "\ud800" },
    [{ field: "name", message: "must be well-formed Unicode" }],
  ],
  [
    "a NUL in a key",
    { name: "n", options: { "a\0": "x" } },
    [{ field: "options.a\0", message: "is not a field of this action" }],
  ],
  [
    "the key __proto__",
    JSON.parse('{"name":"n","options":{"__proto__":"x"}}'),
    [{ field: "options.__proto__", message: "is not a field of this action" }],
  ],
];

for (const [what, body, expected] of cases) {
  test(`${what} is refused by name`, () => assert.deepEqual(fieldsOf(body), expected));
}

test("a body that is not an object is refused", () => {
  for (const body of [null, [], "x", 5, true, undefined])
    assert.notEqual(fieldsOf(body), undefined);
});

test("nesting that no action has a use for is refused, however deep", () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`);
  const [fault] = fieldsOf({ name: "n", options: deep })!;
  assert.match(fault!.message, /nested more than 32 levels/);
});

test("A5: a refusal lists 20 fields at most, counts the others, and shortens long names", () => {
  const body = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`k${i}`, 0]));
  assert.throws(
    () => validate(sample, { name: "n", ...body }),
    (error) => {
      assert.ok(error instanceof Refusal);
      assert.equal(error.details.fields?.length, 20);
      assert.match(
        error.message,
        /k4 is not a field of this action; and 8995 more\. The action's fields are name, /,
      );
      return true;
    },
  );
  const [fault] = fieldsOf({ name: "n", ["k".repeat(1_000)]: 0 })!;
  assert.deepEqual(fault!.field, `${"k".repeat(200)}…`);
});

test("a NUL deep inside is named by its path", () => {
  const body = { name: "n", list: [{ id: "x" }, { id: "a\0" }] };
  assert.equal(fieldsOf(body)![0]!.field, "list[1].id");
});

test("what fits is passed on as it was sent", () => {
  const body = { name: "🙂🙂🙂", count: 5, options: { a: "b" } };
  assert.deepEqual(validate(sample, body), body);
});
