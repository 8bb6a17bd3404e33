// Ids survive the way to a caller and back, and only an id counts as one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { InstanceId, formatId, idPrefixes, parseId, type IdKind } from "./ids.ts";

const uuids = [
  "00000000-0000-0000-0000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "0190b8a0-7c3e-7f10-8a2b-1234567890ab",
  "80000000-0000-7000-8000-000000000001",
];

test("an id of every kind comes back as the UUID it was made from", () => {
  for (const kind of Object.keys(idPrefixes) as IdKind[]) {
    for (const uuid of uuids) {
      const id = formatId(kind, uuid);
      assert.match(id, new RegExp(`^${idPrefixes[kind]}_[0-9a-z]{26}$`));
      assert.equal(parseId(kind, id), uuid);
    }
  }
});

test("prefixes are unique, and an id of one kind is none of another", () => {
  const prefixes = Object.values(idPrefixes);
  assert.equal(new Set(prefixes).size, prefixes.length);
  assert.equal(parseId("session", formatId("instance", uuids[2] ?? "")), null);
});

test("ids sort as their UUIDs do", () => {
  const ids = [...uuids].sort().map((uuid) => formatId("session", uuid));
  assert.deepEqual([...ids].sort(), ids);
});

test("a text that is no id is refused, also one that would name the same UUID otherwise", () => {
  const id = formatId("instance", uuids[2] ?? "");
  const broken = [
    "",
    "ins_",
    "no such id",
    uuids[2] ?? "",
    id.toUpperCase(),
    `${id}0`,
    id.slice(0, -1),
    ` ${id}`,
    `${id}\n`,
    id.replace(/.$/, "u"),
    id.replace(/.$/, "-"),
    `ins_${"z".repeat(26)}`,
    `ins_8${"0".repeat(25)}`,
    "__proto__",
  ];
  for (const text of broken) assert.equal(parseId("instance", text), null, JSON.stringify(text));
});

test("the schema of an id takes any text, so that what names nothing is not found", () => {
  for (const text of ["", "no such id", "🙂"]) assert.ok(InstanceId.safeParse(text).success);
  assert.ok(!InstanceId.safeParse(7).success);
});
