// Texts of trusted skills, commands and sub-agents.
import assert from "node:assert/strict";
import { test } from "node:test";
import { plainText } from "./plain-text.ts";

/** The lines of a text with these fields and this body. */
const head = (fields: string[] = [], body = "") => [
  "---",
  "# Other fields were removed.",
  ...fields,
  "---",
  ...body.split("\n"),
];
const lines = (text: string) => text.split("\n");
const plain = (text: string) => plainText(text, { keepsName: true });

test("plain fields are kept, also over several lines and as lists", () => {
  const text = [
    "---",
    "name: tidy",
    "description: >",
    "  Tidies: all",
    "  of it.",
    "tools:",
    "  - Read",
    '  - "Grep"',
    "model: 'small'",
    "---",
    "Body.",
  ].join("\r\n");
  const fields = [
    'name: "tidy"',
    'description: "Tidies: all of it."',
    'tools: "Read, Grep"',
    'model: "small"',
  ];
  assert.deepEqual(lines(plain(text)), head(fields, "Body."));
});

const removed: [string, string[]][] = [
  ["hooks", ["---", "hooks:", "  Stop:", "    - command: x", "---"]],
  ["quoted names", ["---", '"hooks": {"Stop": [{"command": "x"}]}', "---"]],
  ["an object in one line", ["---", '{description: x, hooks: {Stop: [{command: "x"}]}}', "---"]],
  ["servers and modes", ["---", "mcpServers: {a: {}}", "permissionMode: bypassPermissions", "---"]],
  ["merged fields", ["---", "<<: *other", "? hooks", ": {}", "---"]],
];
for (const [name, text] of removed) {
  test(`${name} are removed`, () =>
    assert.deepEqual(lines(plain([...text, ""].join("\n"))), head()));
}

test("a field cannot become another one", () => {
  const text = '---\ndescription: "x\\nhooks: {}"\nname: a # b\n---\n---\nhooks: {}\n---\n';
  const fields = ['description: "x\\nhooks: {}"', 'name: "a # b"'];
  assert.deepEqual(lines(plain(text)), head(fields, "---\nhooks: {}\n---\n"));
});

test("a text without front matter, or with an open one, is all body", () => {
  for (const text of ["Only text.", "---\nhooks: {}\n", " ---\nhooks: {}\n---\n"])
    assert.deepEqual(plain(text), head().join("\n") + text);
});

test("what was rewritten stays as it is", () => {
  const once = plain("---\nname: tidy\ndescription: a\n  b\nhooks: {}\n---\nBody.");
  assert.equal(plain(once), once);
});

test("only a sub-agent keeps its name, because a skill's could be that of a built-in command", () => {
  const text = plainText("---\nname: compact\ndescription: x\n---\n", { keepsName: false });
  assert.deepEqual(lines(text), head(['description: "x"']));
});

test("what follows an @ is only text", () => {
  const body = '@/etc/passwd @~ @~/x @../x @a/b @"a b" @C:\\x, @file.txt @Decorator a@b.example';
  assert.equal(
    lines(plain(body)).at(-1),
    '@ /etc/passwd @ ~ @ ~/x @ ../x @ a/b @ "a b" @ C:\\x, @ file.txt @ Decorator a@ b.example',
  );
});

test("a text that is rewritten twice is the same", () => {
  const text = `---\ndescription: Says "hi", isn't it\nargument-hint: 'it''s \\ it'\n---\nSee @ a/b and @a/b.\n`;
  const once = plain(text);
  assert.match(once, /description: "Says \\"hi\\", isn't it"\nargument-hint: "it's \\\\ it"/);
  assert.equal(plain(once), once);
});

test("arguments cannot be joined with each other or with the text", () => {
  const body = "@.$0.$1 $0$1$2 x$ARGUMENTS/y $ARGUMENTS[0]$ARGUMENTS[12] $10/../z";
  const apart = "@ . $0 . $1 $0 $1 $2 x $ARGUMENTS /y $ARGUMENTS[0] $ARGUMENTS[12] $10 /../z";
  assert.equal(plain(body), head([], apart).join("\n"));
  assert.equal(plain(plain(body)), plain(body));
});
