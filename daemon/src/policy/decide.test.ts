import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openPolicyBed, type Answer, type Wanted } from "@hawser/testkit/policy-bed.ts";
import { denialText } from "./call.ts";
import { decide, type Rules } from "./decide.ts";

const { folder, state, directory, rules: common, answerTo, run } = openPolicyBed();
const agentWith = (more: object): Wanted => ({ type: "agent", name: "general", ...more });
const outside = join(folder, "elsewhere.txt");

test("each mode answers each call as the table says", () => {
  const inSandbox = { hasSandbox: true };
  const ownersWord = { unattendedCommands: true };
  const refuses = { outsideWorktree: "refuse" } as const;
  const rows: [string, Wanted, Partial<Rules>, Answer, Answer, Answer][] = [
    ["read inside", { type: "read", paths: ["a.txt"] }, {}, "allow", "allow", "allow"],
    ["read outside", { type: "read", paths: [outside] }, {}, "ask", "ask", "deny"],
    ["read outside, refused", { type: "read", paths: [outside] }, refuses, "deny", "deny", "deny"],
    [
      "read a secret",
      { type: "read", paths: [join(folder, ".ssh/id")] },
      {},
      "deny",
      "deny",
      "deny",
    ],
    ["note", { type: "note" }, {}, "allow", "allow", "allow"],
    ["question", { type: "question" }, {}, "ask", "ask", "deny"],
    ["edit inside", { type: "edit", paths: ["a.txt"] }, {}, "allow", "allow", "allow"],
    ["edit .git", { type: "edit", paths: [".git/hooks/x"] }, {}, "ask", "ask", "deny"],
    ["edit configuration", { type: "edit", paths: [".claude/x"] }, {}, "ask", "ask", "deny"],
    ["edit outside", { type: "edit", paths: [outside] }, {}, "ask", "ask", "deny"],
    ["edit outside, refused", { type: "edit", paths: [outside] }, refuses, "deny", "deny", "deny"],
    ["edit state", { type: "edit", paths: [join(state, "x")] }, {}, "deny", "deny", "deny"],
    ["edit agent", { type: "edit", paths: [join(folder, ".agent/x")] }, {}, "deny", "deny", "deny"],
    ["covered command", run("git status"), {}, "allow", "allow", "allow"],
    ["other command", run("make"), {}, "ask", "ask", "deny"],
    ["opaque command", run("echo $(id)"), {}, "ask", "ask", "deny"],
    ["other command in a sandbox", run("make"), inSandbox, "ask", "allow", "allow"],
    ["opaque command in a sandbox", run("echo $(id)"), inSandbox, "ask", "allow", "allow"],
    ["other command, the owner's word", run("make"), ownersWord, "ask", "ask", "allow"],
    ["secret in a command", run("cat ../../x"), {}, "deny", "deny", "deny"],
    ["secret, in a sandbox", run(`cat ${folder}/.ssh/id`), inSandbox, "deny", "deny", "deny"],
    ["fetch", { type: "fetch", target: "https://a.example" }, {}, "ask", "ask", "deny"],
    ["mcp", { type: "mcp", server: "a", tool: "b" }, {}, "ask", "ask", "deny"],
    ["agent", { type: "agent", name: "general" }, {}, "ask", "ask", "deny"],
    ["agent that reads inside", agentWith({ reads: ["a"] }), {}, "ask", "ask", "deny"],
    ["agent that reads outside", agentWith({ reads: [outside] }), refuses, "deny", "deny", "deny"],
    ["agent that reads a secret", agentWith({ reads: [state] }), {}, "deny", "deny", "deny"],
    ["agent that asks nobody", agentWith({ hasOwnPermissions: true }), {}, "deny", "deny", "deny"],
    ["unknown tool", { type: "other", tool: "x" }, {}, "ask", "ask", "deny"],
    [
      "leaving the sandbox",
      { ...run("git status"), leavesSandbox: true } as Wanted,
      inSandbox,
      "ask",
      "ask",
      "deny",
    ],
  ];
  for (const [name, wanted, more, ...expected] of rows) {
    const answers = (["ask", "auto", "unattended"] as const).map((mode) =>
      answerTo(wanted, { ...more, mode }),
    );
    assert.deepEqual(answers, expected, name);
  }
});

test("A8: rules allow a command only if they cover each part of it, word by word", () => {
  const decisions: [string, Answer][] = [
    ["echo hi", "allow"],
    ["echo", "allow"],
    ["echo 'a b; c'", "allow"],
    ["npm test -- a b", "allow"],
    ["npm test -- 'a' b", "allow"],
    ["echo one; echo two && git status", "allow"],
    ["echo hi | echo ho & echo", "allow"],
    ["echo hi > inside.txt 2>&1", "allow"],
    ["timeout 5 git status", "allow"],
    ["git status --short", "ask"],
    ["'git status'", "ask"],
    ["npm test -- 'a b'", "ask"],
    ["timeout 5 rm x", "ask"],
    ["echoes hi", "ask"],
    ["echo hi; rm x", "ask"],
    ["echo hi\nrm x", "ask"],
    ["echo hi | sh", "ask"],
    ["echo hi > ../../../x", "ask"],
    ["echo hi > up/x", "ask"],
    ["echo hi > .git/config", "ask"],
    ["echo $(rm x)", "ask"],
    ["echo $HOME", "ask"],
    ["GIT_CONFIG_COUNT=1 git status", "ask"],
    ["export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor; git status", "ask"],
    ["cd /; git status", "ask"],
    ["", "ask"],
  ];
  const rules = { secrets: [] };
  for (const [command, expected] of decisions) {
    assert.equal(answerTo(run(command), rules), expected, command);
    assert.equal(answerTo({ ...run(command), isPlanning: true }, rules), "ask", command);
  }
  assert.equal(answerTo(run("git status", folder), rules), "ask", "outside the directory");
  assert.equal(
    answerTo({ ...run("git status"), cwd: undefined } as Wanted, rules),
    "ask",
    "in an unknown directory",
  );
});

test("A2: a path counts by where it really leads", () => {
  const places: [string, Answer][] = [
    ["new.txt", "allow"],
    [join(directory, "deep", "new.txt"), "allow"],
    ["..hidden", "allow"],
    ["up/other.txt", "ask"],
    ["dangling", "ask"],
    ["loop", "ask"],
    ["../above.txt", "ask"],
    [".git/hooks/post-checkout", "ask"],
    ["deep/.GIT/config", "ask"],
    ["deep/.mcp.json", "ask"],
  ];
  for (const [path, expected] of places) {
    assert.equal(answerTo({ type: "edit", paths: [path] }, { secrets: [] }), expected, path);
    const both = { type: "edit" as const, paths: ["new.txt", path] };
    assert.equal(answerTo(both, { secrets: [] }), expected, path);
  }
  assert.equal(answerTo({ type: "edit", paths: [] }), "ask");
  assert.equal(answerTo({ type: "read", paths: [] }), "ask");
});

test("the copy of trusted configuration may be read by its session, and not changed", () => {
  const trustedDirectory = join(state, "trusted", "session");
  const path = join(trustedDirectory, "plugin", "skills", "more.md");
  const isTrusted = { trustedDirectory };
  assert.equal(answerTo({ type: "read", paths: [path] }, isTrusted), "allow");
  assert.equal(answerTo({ type: "read", paths: [path] }), "deny");
  assert.equal(
    answerTo({ type: "read", paths: [path, `${path}/../../../../other`] }, isTrusted),
    "deny",
  );
  // Some programs remove `..` before they follow the link.
  symlinkSync(join(trustedDirectory, "a/b/c/d"), join(directory, "deep-link"));
  const joined = { type: "read" as const, paths: ["deep-link/../../../credentials.json"] };
  assert.notEqual(answerTo(joined, isTrusted), "allow");
  assert.equal(answerTo({ type: "edit", paths: [path] }, isTrusted), "deny");
  assert.equal(answerTo(run(`echo > ${path}`), isTrusted), "deny");
});

test("an attachment of the prompt may be read wherever it is", () => {
  const path = join(state, "attachments", "a.png");
  assert.equal(answerTo({ type: "read", paths: [path], attachments: [path] }), "allow");
  assert.equal(answerTo({ type: "read", paths: [path, outside], attachments: [path] }), "deny");
  const show: Wanted = { type: "execute", command: `cat ${path}`, cwd: directory };
  assert.equal(answerTo(show), "deny");
  assert.equal(answerTo({ ...show, attachments: [path] }), "ask");
  const write: Wanted = { ...show, command: `echo > ${path}`, attachments: [path] };
  assert.equal(answerTo(write), "deny");
});

test("a denial names its rule and lets the agent go on", () => {
  const denied = decide({ ...common, mode: "unattended" }, { callId: null, type: "question" });
  assert.match(
    denialText(denied),
    /the agent asks a question, and in mode unattended no person is asked.* Go on without it/,
  );
});

test("the reason for a held option says what it can do", () => {
  const rules = { ...common, allowedCommands: ["grep *"] };
  const { rule } = decide(rules, { callId: null, ...run("grep -R x .") });
  assert.match(rule, /: grep can run a program, write a file or follow links .* with -R$/);
});

test("A8: a path is where the kernel finds it, also with `..` after a link", () => {
  const tree = join(folder, "plain", "tree");
  mkdirSync(join(tree, "deep"), { recursive: true });
  symlinkSync(".", join(tree, "self"));
  symlinkSync("self/../sibling", join(tree, "leaves"));
  const rules: Partial<Rules> = { directory: tree };
  for (const path of [
    "self/../x",
    "self/self/../../x",
    "deep/../self/../x",
    "leaves",
    "leaves/x",
  ]) {
    for (const written of [path, join(tree, "deep").slice(0, -"deep".length) + path]) {
      assert.equal(answerTo({ type: "read", paths: [written] }, rules), "ask", `read ${written}`);
      assert.equal(answerTo({ type: "edit", paths: [written] }, rules), "ask", `edit ${written}`);
    }
    assert.equal(answerTo(run(`echo a > ${path}`, tree), rules), "ask", `redirect to ${path}`);
    assert.equal(answerTo(run("git status", `${tree}/${path}`), rules), "ask", `run in ${path}`);
  }
  const secret = `${tree}/self/../../.ssh/id`;
  assert.equal(answerTo({ type: "read", paths: [secret] }, rules), "deny");
  for (const path of ["deep/../x", "self/x", "./x"]) {
    assert.equal(answerTo({ type: "edit", paths: [path] }, rules), "allow", path);
  }
});

test("temporary files of agents are outside, but not closed like the daemon's other files", () => {
  const file = join(state, "tmp/ses_1/notes.txt");
  assert.equal(answerTo({ type: "read", paths: [file] }), "ask");
  assert.equal(answerTo({ type: "edit", paths: [file] }), "ask");
  assert.equal(answerTo(run(`cat ${file}`), { mode: "auto", hasSandbox: true }), "allow");
  const policyFile = join(state, "tmp/../policy");
  assert.equal(answerTo({ type: "read", paths: [policyFile] }), "deny");
  assert.equal(answerTo(run(`cat ${policyFile}`), { mode: "auto", hasSandbox: true }), "deny");
});
