import assert from "node:assert/strict";
import { test } from "node:test";
import { changesIn, readHookCall } from "./hook-calls.ts";

const place = { directory: "/tree", attachments: ["/attached.png"], isPlanning: false };

const read = (tool_name: string, tool_input: unknown, cwd = "/tree") =>
  readHookCall({ session_id: "s", cwd, tool_name, tool_input, tool_use_id: "id" }, place);

test("each tool becomes the call that it makes", () => {
  const about = { callId: "id", isPlanning: false };
  const rows: [string, unknown, object][] = [
    [
      "Bash",
      { command: "ls" },
      { type: "execute", command: "ls", cwd: "/tree", attachments: ["/attached.png"] },
    ],
    [
      "view_image",
      { path: "../a.png" },
      { type: "read", paths: ["/a.png"], attachments: ["/attached.png"] },
    ],
    ["spawn_agent", { message: "m", agent_type: "explorer" }, { type: "agent", name: "explorer" }],
    ["spawn_agent", { message: "m" }, { type: "agent", name: "default" }],
    ["request_user_input", { questions: [{ question: "q" }] }, { type: "question" }],
    ["mcp__a__b__c", { x: 1 }, { type: "mcp", server: "a", tool: "b__c" }],
    [
      "read_mcp_resource",
      { server: "a", uri: "u" },
      { type: "mcp", server: "a", tool: "read_mcp_resource" },
    ],
    ["update_goal", {}, { type: "note" }],
    ["new_tool", {}, { type: "other", tool: "new_tool" }],
    ["mcp__broken", {}, { type: "other", tool: "mcp__broken" }],
    // Input of an unexpected shape is decided about as if it were empty.
    [
      "Bash",
      ["ls"],
      { type: "execute", command: "", cwd: "/tree", attachments: ["/attached.png"] },
    ],
    ["apply_patch", null, { type: "edit", paths: [] }],
  ];
  for (const [tool, input, call] of rows) {
    assert.deepEqual(read(tool, input).call, { ...about, ...call }, tool);
  }
});

test("a request shows the exact command, its directory, and a rule that covers nothing else", () => {
  assert.deepEqual(read("Bash", { command: "touch a && rm b" }).asked, {
    title: "Run a command, in the sandbox",
    detail: "touch a && rm b",
    alwaysRules: ["touch a && rm b"],
  });
  assert.deepEqual(read("Bash", { command: "id" }, "/tree/deep").asked?.alwaysRules, [
    'in "deep": id',
  ]);
  const outside = read("Bash", { command: "id" }, "/elsewhere").asked;
  assert.equal(outside?.title, "Run a command outside the session's directory, in the sandbox");
  assert.deepEqual(outside?.alwaysRules, ['in "/elsewhere": id']);
  for (const command of [
    "outside the sandbox: rm x",
    'mcp: srv wipe {"id":1}',
    "tool: x",
    "add /srv/.bashrc\n+evil\n",
    'in "sub": ls',
  ]) {
    assert.deepEqual(read("Bash", { command }).asked?.alwaysRules, [], command);
  }
});

test("A2: no path of a patch is missed", () => {
  const pathsIn = (...lines: string[]) =>
    changesIn(["*** Begin Patch", ...lines, "*** End Patch"].join("\n"), "/tree").flatMap(
      ({ path, kind }) => (kind.move_path ? [path, kind.move_path] : [path]),
    );
  const rows: [string[], string[]][] = [
    [["*** Add File: a.txt", "+hi"], ["/tree/a.txt"]],
    [["*** Delete File: ../b"], ["/b"]],
    [
      ["*** Update File: a", "*** Move to: /c", "@@", "-x", "+y"],
      ["/tree/a", "/c"],
    ],
    [["*** Add File: a\r", "+hi\r"], ["/tree/a"]],
    [["  *** Add File:  a  "], ["/tree/a"]],
    [["*** Add File: \u0085../b"], ["/b"]],
    // Context that looks like a header must not hide a path.
    [
      ["*** Update File: a", "*** Move to: ../c", "@@", " *** Move to: d"],
      ["/tree/a", "/c", "/tree/d"],
    ],
    [[], []],
  ];
  for (const [lines, paths] of rows) assert.deepEqual(pathsIn(...lines), paths, lines.join("|"));
});
