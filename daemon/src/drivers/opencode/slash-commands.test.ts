// What a slash command mentions, by its template and its arguments. calls.test.ts has the same of the real
// opencode.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mentionsOf } from "./slash-commands.ts";

test("a template is expanded as opencode expands it", () => {
  const table: [template: string, text: string, names: string[]][] = [
    ["Look: @$ARGUMENTS", "/a b", ["/a"]],
    ["Look: $ARGUMENTS", "/a @/b", ["/b"]],
    ["Look: $1", '"@/a"', ["/a"]],
    ["Look: $2, not $1", "@/a @/b @/c", ["/b", "/c", "/a"]],
    ["Look: @/etc/$1", "a/b", ["/etc/a/b"]],
    ["Look: @$0", "/a /b", ["/b"]],
    ["Look: $1", "$ARGUMENTS @/a", ["/a", "/a"]],
    ["Look: @$ARGUMENTS", "$&", ["$ARGUMENTS"]],
    ["Look", "@/a", ["/a"]],
    ["Look: $1", "!`x`@/a", ["/a"]],
    ["Look: @/own $1", "@/a", ["/a"]],
  ];
  for (const [template, text, names] of table)
    assert.deepEqual(mentionsOf({ source: "command", template }, text), names, template);
});

test("what a skill mentions itself counts, because the repository may contain the skill", () => {
  assert.deepEqual(mentionsOf({ source: "skill", template: "Look: @/a" }, ""), ["/a"]);
});

test("every word counts if the template is unknown", () => {
  const command = { source: "mcp", template: {} };
  for (const text of ["/a", "@/a", '"/a"', "'@/a'", '"x /a"', 'x "/a', "!`x`@/a"])
    assert.ok(mentionsOf(command, text).includes("/a"), text);
});
