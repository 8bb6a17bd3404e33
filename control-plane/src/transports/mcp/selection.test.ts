import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal, action, type Effect } from "@hawser/contract";
import { z } from "zod";
import { selectionOf } from "./selection.ts";

const toy = (effect: Effect, group = "toys") =>
  action({
    summary: "Toy.",
    group,
    permission: null,
    effect,
    reach: "records",
    input: z.strictObject({}),
    result: z.strictObject({}),
    refusals: [],
  });
const actions = {
  look: toy("reads"),
  make: toy("changes"),
  hire: toy("changes", "people"),
  count: toy("reads", "people"),
};

function offered(query: string, headers: Record<string, string> = {}): string[] {
  const request = new Request(`http://h/api/mcp${query}`, { headers });
  const selection = selectionOf(request, actions, ["people"]);
  return Object.entries(actions)
    .filter(([name, each]) => selection.includes(name, each))
    .map(([name]) => name);
}

function refusalOf(query: string, headers: Record<string, string> = {}): string {
  try {
    return `offered ${offered(query, headers).join(", ")}`;
  } catch (error) {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, "invalid_input");
    return error.message;
  }
}

test("read-only holds if the query or the header says so", () => {
  const on = { "x-mcp-readonly": "true" };
  const off = { "x-mcp-readonly": "false" };
  assert.deepEqual(offered(""), ["look", "make"]);
  assert.deepEqual(offered("?readonly=false", off), ["look", "make"]);
  for (const [query, headers] of [
    ["?readonly=true", {}],
    ["", on],
    ["?readonly=true", off],
    ["?readonly=false", on],
  ] as const) {
    assert.deepEqual(offered(query, headers), ["look"], `${query} ${JSON.stringify(headers)}`);
  }
});

test("a misspelled setting is refused with its right name", () => {
  for (const name of ["readOnly", "read_only", "read-only", "READONLY"]) {
    assert.match(refusalOf(`?${name}=true`), /is not a setting: write readonly\./, name);
  }
  assert.match(refusalOf("?toolSets=toys"), /write toolsets\./);
  assert.match(refusalOf("", { "x-mcp-read-only": "true" }), /write x-mcp-readonly\./);
});

test("an unknown setting is refused with the names of all", () => {
  assert.match(
    refusalOf("?x=1"),
    /x is not a setting: the settings are toolsets, tools, readonly, outputSchemas\./,
  );
  assert.match(refusalOf("", { "x-mcp-exclude-tools": "make" }), /the settings are x-mcp-toolsets/);
  assert.deepEqual(offered("", { "mcp-protocol-version": "2026-07-28" }), ["look", "make"]);
});

test("a setting that is given twice is refused, in the query and in headers", () => {
  assert.match(refusalOf("?readonly=false&readonly=true"), /readonly is given more than once/);
  assert.match(refusalOf("?readonly=true&readonly=true"), /readonly is given more than once/);
  const headers = new Headers([
    ["x-mcp-readonly", "false"],
    ["x-mcp-readonly", "true"],
  ]);
  const request = new Request("http://h/api/mcp", { headers });
  assert.throws(() => selectionOf(request, actions, []), Refusal);
});

test("a value that is neither true nor false is refused", () => {
  for (const value of ["", "TRUE", "1", "yes", "true%20"]) {
    assert.match(refusalOf(`?readonly=${value}`), /must be true or false/, value);
  }
});

test("a group on request is offered only if the group or the tool is named", () => {
  assert.deepEqual(offered("?toolsets=people"), ["hire", "count"]);
  assert.deepEqual(offered("", { "x-mcp-toolsets": "toys,people" }), Object.keys(actions));
  assert.deepEqual(offered("?tools=hire,look"), ["look", "hire"]);
  assert.deepEqual(offered("?toolsets=people&readonly=true"), ["count"]);
  assert.deepEqual(offered("?toolsets=toys"), ["look", "make"]);
  assert.deepEqual(offered("?outputSchemas=true"), ["look", "make"]);
});
