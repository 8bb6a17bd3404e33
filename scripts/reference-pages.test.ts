import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { actionNames, registry } from "@hawser/contract";
import { z } from "zod";
import { exampleBody } from "./example-body.ts";
import { referencePages } from "./reference-pages.ts";
import { fieldTable } from "./schema-table.ts";

const text = { required: "Required", empty: "An empty object." };

/** The table's rows without its head, for a schema. */
function rows(schema: z.ZodType): string[] {
  return fieldTable(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }), text)
    .split("\n")
    .slice(2);
}

describe("the table of fields", () => {
  const cases: [field: z.ZodType, row: string][] = [
    [z.string().min(1).max(80), "| `x` | string | yes | 1 to 80 characters |  |"],
    [z.string().min(1), "| `x` | string | yes | at least 1 character |  |"],
    [z.int().optional(), "| `x` | integer | no |  |  |"],
    [z.int().positive().max(500), "| `x` | integer | yes | at most 500; greater than 0 |  |"],
    [z.int().meta({ default: 50 }), "| `x` | integer | yes | default `50` |  |"],
    [z.enum(["a", "b"]).nullable(), '| `x` | `"a"`, `"b"` or null | yes |  |  |'],
    [z.string().nullable(), "| `x` | string or null | yes |  |  |"],
    [z.record(z.string(), z.string()), "| `x` | map of string | yes |  |  |"],
    [
      z.array(z.string().min(1)).min(1).max(100),
      "| `x` | array of string | yes | 1 to 100 items; each: at least 1 character |  |",
    ],
    [z.union([z.string(), z.boolean()]), "| `x` | string or boolean | yes |  |  |"],
    [z.string().describe("a|b"), "| `x` | string | yes |  | a\\|b |"],
    [
      z.string().meta({ idOf: "apiKey", writeOnly: true }),
      "| `x` | string | yes |  | Id of an API key. Never logged or audited. |",
    ],
  ];
  for (const [field, row] of cases) {
    test(`has the row ${row}`, () => assert.deepEqual(rows(z.strictObject({ x: field })), [row]));
  }

  test("lists nested fields under their parent, through arrays, null and named records", () => {
    const Record = z.strictObject({ kind: z.string() }).meta({ id: "TableTestRecord" });
    const fields = rows(
      z.strictObject({ chain: z.array(Record).nullable(), one: Record, last: z.string() }),
    ).map((row) => row.split("`")[1]);
    assert.deepEqual(fields, ["chain", "chain[].kind", "one", "one.kind", "last"]);
  });

  test("ends for a record that holds itself", () => {
    const Tree = z.strictObject({
      name: z.string(),
      get children() {
        return z.array(Tree);
      },
    });
    assert.equal(rows(Tree).length, 2);
  });

  test("is a sentence for an object without fields", () => {
    assert.equal(fieldTable(z.toJSONSchema(z.strictObject({})), text), "An empty object.");
  });
});

describe("the reference", () => {
  test("has a page for every action, and the same text each time", () => {
    const pages = referencePages({});
    for (const name of actionNames) assert.match(pages.get(`${name}.md`) ?? "", /## Example/);
    assert.equal(pages.size, actionNames.length + 4);
    assert.deepEqual(pages, referencePages({}));
  });

  test("links only to pages that exist", () => {
    const folder = join(import.meta.dirname, "../docs/reference");
    const pages = referencePages({});
    for (const [name, page] of pages) {
      for (const [, target] of page.matchAll(/\]\(([^)#]+)/g)) {
        const isThere = pages.has(target!) || existsSync(join(folder, target!));
        assert.ok(isThere, `${name} links to ${target}`);
      }
    }
  });

  test("adds an optional field to an example when a rule asks for it", () => {
    const body = exampleBody("delete_session", registry.delete_session.input);
    assert.deepEqual(Object.keys(body), ["sessionId"]);
  });
});
