import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { received, restriction } from "./received.ts";

const Kind = z.enum(["cat", "dog"]);
const Limits = restriction(z.strictObject({ most: z.int() }));
const Message = z.strictObject({
  name: z.string().max(5),
  kinds: z.array(Kind).max(3),
  animals: z.array(z.strictObject({ kind: Kind, tricks: z.array(Kind).optional() })),
  owner: z.strictObject({ name: z.string() }).nullable(),
  from: z.union([z.strictObject({ file: z.string() }), z.strictObject({ url: z.string() })]),
  places: z.partialRecord(Kind, z.strictObject({ row: z.int() })),
  limits: Limits.optional(),
  raw: z.looseObject({ type: z.string() }),
});
const message = {
  name: "a",
  kinds: ["cat"],
  animals: [{ kind: "dog", tricks: ["cat"] }],
  owner: { name: "Ada" },
  from: { url: "u" },
  places: { dog: { row: 1 } },
  limits: { most: 2 },
  raw: { type: "t", kept: 1 },
};
const later = { later: { deep: [1] } };

test("fields of a later version are left out at every depth, except where everything is stored", () => {
  const grown = {
    ...message,
    ...later,
    animals: [{ ...message.animals[0], ...later }],
    owner: { ...message.owner, ...later },
    from: { ...message.from, ...later },
    places: { dog: { row: 1, ...later } },
    raw: { ...message.raw, ...later },
  };
  assert.equal(Message.safeParse(grown).success, false);
  const expected = { ...message, raw: { ...message.raw, ...later } };
  assert.deepEqual(received(Message).parse(grown), expected);
  assert.deepEqual(received(Message, { unknownWords: "refuse" }).parse(grown), expected);
});

test("list elements of an unknown kind are left out, and their neighbours stay", () => {
  const grown = {
    ...message,
    kinds: ["fish", "cat"],
    animals: [
      { kind: "fish", fins: 4, tricks: 7 },
      { kind: "dog", tricks: ["fish", "cat"] },
    ],
  };
  assert.deepEqual(received(Message).parse(grown), message);
});

test("a command with an unknown word is refused, because it would be another command without it", () => {
  const schema = received(Message, { unknownWords: "refuse" });
  assert.deepEqual(schema.parse(message), message);
  for (const unknown of [{ kinds: ["fish"] }, { animals: [{ kind: "fish" }] }]) {
    assert.equal(schema.safeParse({ ...message, ...unknown }).success, false);
  }
});

test("an unknown field of a restriction is refused, because it may forbid something", () => {
  const grown = { ...message, limits: { most: 2, ...later } };
  assert.equal(received(Message).safeParse(grown).success, false);
});

test("limits and types are checked as before", () => {
  const wrong: [string, object][] = [
    ["a text that is too long", { name: "abcdef" }],
    ["too many elements, also of unknown kinds", { kinds: ["fish", "fish", "fish", "fish"] }],
    ["an element that is no word", { kinds: [7] }],
    ["an element without its kind", { animals: [{}] }],
    ["a known kind in a wrong shape", { animals: [{ kind: "dog", tricks: "cat" }] }],
    ["a missing field", { owner: undefined }],
    ["neither of two shapes", { from: { path: "p" } }],
    ["a wrong value below a known key", { places: { dog: { row: "1" } } }],
  ];
  for (const [what, change] of wrong) {
    assert.equal(received(Message).safeParse({ ...message, ...change }).success, false, what);
  }
});

test("the place of a wrong element is reported", () => {
  const animals = [{ kind: "fish" }, { kind: "dog", tricks: [1] }];
  const { error } = received(Message).safeParse({ ...message, animals });
  assert.deepEqual(
    error?.issues.map(({ path }) => path),
    [["animals", 1, "tricks", 0]],
  );
});

test("a list is read up to its first wrong element, so that a hostile one costs little", () => {
  const Rows = z.strictObject({ rows: z.array(z.strictObject({ row: z.int() })) });
  const placesOf = (schema: z.ZodType, value: object) =>
    received(schema)
      .safeParse(value)
      .error?.issues.map(({ path }) => path);
  const rows = [{ row: 1 }, ...Array.from({ length: 1_000 }, () => ({}))];
  assert.deepEqual(placesOf(Rows, { rows }), [["rows", 1, "row"]]);
  const fish = (length: number) => ({
    ...message,
    animals: Array.from({ length }, () => ({ kind: "fish" })),
  });
  assert.equal(placesOf(Message, fish(100)), undefined);
  assert.deepEqual(placesOf(Message, fish(1_000)), [["animals", 100, "kind"]]);
});
