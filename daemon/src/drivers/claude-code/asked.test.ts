import assert from "node:assert/strict";
import { test } from "node:test";
import { askedOf } from "./asked.ts";

function permissionOf(tool: string, input: Record<string, unknown>, place = "") {
  const asked = askedOf({ tool, input, place });
  assert.ok("permission" in asked);
  return asked.permission;
}

const hook = "/w/.git/hooks/post-checkout";

test("a rule for `always` is exactly what the request shows", () => {
  const cases: [string, Record<string, unknown>, string][] = [
    ["Bash", { command: "npm test", description: "x" }, "npm test"],
    ["Read", { file_path: "/etc/hosts" }, "/etc/hosts"],
    ["WebFetch", { url: "https://example.com/", prompt: "x" }, "https://example.com/"],
    ["WebSearch", { query: "boats" }, "boats"],
  ];
  for (const [tool, input, detail] of cases) {
    const permission = permissionOf(tool, input);
    assert.equal(permission.detail, detail);
    assert.deepEqual(permission.alwaysRules, [`${tool === "Bash" ? "bash" : tool}: ${detail}`]);
  }
  const elsewhere = permissionOf("Bash", { command: "ls" }, 'in "api": ');
  assert.deepEqual(elsewhere.alwaysRules, ['bash: in "api": ls']);
});

test("a change is shown with its content, and has no rule, because a rule would cover other content", () => {
  const cases: [string, Record<string, unknown>, string][] = [
    ["Write", { file_path: hook, content: "#!/bin/sh\n" }, `${hook}\n\ncontent:\n#!/bin/sh\n`],
    [
      "Edit",
      { file_path: hook, old_string: "a", new_string: "b", replace_all: true },
      `${hook}\n\nold_string:\na\n\nnew_string:\nb\n\nreplace_all:\ntrue`,
    ],
    [
      "NotebookEdit",
      { notebook_path: "/o/n.ipynb", cell_id: "1", new_source: "x" },
      "/o/n.ipynb\n\ncell_id:\n1\n\nnew_source:\nx",
    ],
  ];
  for (const [tool, input, detail] of cases) {
    const permission = permissionOf(tool, input);
    assert.deepEqual([permission.detail, permission.alwaysRules], [detail, []]);
  }
});

test("a long text of a change is cut, the others stay, and the request says how much is missing", () => {
  const input = { file_path: hook, old_string: "a".repeat(10_000), new_string: "evil" };
  const { detail } = permissionOf("Edit", input);
  assert.ok(detail!.length < 9_000);
  assert.match(detail!, /a\n… 1808 more characters\.\n\nnew_string:\nevil$/);
});

test("a call that is more than its subject is shown whole, and has no rule", () => {
  const cases: [string, Record<string, unknown>][] = [
    ["Agent", { description: "x", subagent_type: "general-purpose", prompt: "Help." }],
    ["mcp__el__send", { path: "/a", text: "b" }],
    ["Skill", { skill: "helpful", args: "x" }],
    ["Bash", { command: "ls", dangerouslyDisableSandbox: true }],
  ];
  for (const [tool, input] of cases) {
    const { detail, alwaysRules } = permissionOf(tool, input);
    assert.deepEqual([detail, alwaysRules], [JSON.stringify(input), []]);
  }
  assert.equal(permissionOf("EnterPlanMode", {}).detail, null);
});
