import assert from "node:assert/strict";
import { test } from "node:test";
import { requirementIds } from "./requirement-ids.ts";

const header = "id\taction\tsource\tkind\tstatement\tprobe";
const row = (id: string, kind = "shape") => `${id}\t-\t1\t${kind}\tIt is so.\task → 200`;

test("the ids of all rows become one type", () => {
  const text = requirementIds(`${header}\n${row("a.b")}\n${row("c")}\n`);
  assert.match(text, /^\/\/ Generated .*\nexport type RequirementId =\n  \| "a\.b"\n  \| "c";\n$/);
});

const refused: [why: string, table: string, message: RegExp][] = [
  ["has other columns", `id\tkind\n${row("a")}\n`, /first line/],
  ["lacks a field", `${header}\na\t-\t1\tshape\tIt is so.\n`, /requirements\.tsv:2 must have 6/],
  ["has an empty field", `${header}\n${row("")}\n`, /requirements\.tsv:2 must have 6/],
  ["has an unknown kind", `${header}\n${row("a", "wish")}\n`, /"wish"/],
  ["has an id twice", `${header}\n${row("a")}\n${row("a")}\n`, /"a" twice/],
];

for (const [why, table, message] of refused) {
  test(`a table that ${why} is refused`, () => {
    assert.throws(() => requirementIds(table), message);
  });
}
