import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { AgentPolicy } from "@hawser/contract";
import { readRequest } from "./asked.ts";
import type { FileChange } from "./protocol.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-asked-"));
const directory = join(folder, "tree");
mkdirSync(directory);
mkdirSync(join(folder, "outside"));
symlinkSync(join(folder, "outside"), join(directory, "link"));
symlinkSync(join(folder, "not-there-yet"), join(directory, "dangling"));
after(() => rmSync(folder, { recursive: true, force: true }));

const asks: AgentPolicy = { allowedCommands: ["git status", "echo *"], outsideWorktree: "ask" };
const refuses: AgentPolicy = { ...asks, outsideWorktree: "refuse" };

function ofCommand(command: string, more: object = {}, policy = asks) {
  const shown = `/bin/bash -lc '${command}'`;
  const params = { kind: "command", itemId: "call", command: shown, cwd: directory, ...more };
  const method = "item/commandExecution/requestApproval";
  return readRequest(method, params, undefined, { directory, policy })!;
}

function ofFiles(changes: FileChange[], more: object = {}, policy = asks) {
  const item = { type: "fileChange" as const, id: "call", changes, status: "inProgress" as const };
  const method = "item/fileChange/requestApproval";
  return readRequest(method, { itemId: "call", ...more }, item, { directory, policy })!;
}

const change = (path: string, kind: FileChange["kind"] = { type: "update" }): FileChange => ({
  path,
  kind,
  diff: "@@ -1 +1 @@\n-a\n+b\n",
});

test("a command needs permission unless the policy lists it or each of its parts", () => {
  const decisions: [string, "once" | undefined][] = [
    ["git status", "once"],
    ["git status --short", undefined],
    ["git statusx", undefined],
    ["echo", "once"],
    ["echo a b", "once"],
    ["echo a; git status", "once"],
    ["echo a; rm b", undefined],
    ["echo a && rm b", undefined],
    ["echo $(rm b)", undefined],
    ["echo a > b", undefined],
    ["echoes", undefined],
    [Array.from({ length: 51 }, () => "echo a").join(" && ") + " && rm b", undefined],
  ];
  for (const [command, expected] of decisions) {
    const { decided } = ofCommand(command);
    assert.deepEqual(decided, expected && { permission: expected }, command);
  }
});

test("a request shows the exact command, and its rule covers nothing else", () => {
  const { asked, reply } = ofCommand("touch a && rm b");
  assert.deepEqual(asked, {
    permission: {
      title: "Run a command, without the sandbox if that stops it",
      detail: "touch a && rm b",
      alwaysRules: ["touch a && rm b"],
    },
  });
  assert.deepEqual(reply({ permission: "once" }), { decision: "accept" });
  assert.deepEqual(reply({ permission: "reject" }), { decision: "decline" });
});

test("another directory than the session's own is shown and has its own rule", () => {
  const shownIn = (cwd: string | null, more = {}) => {
    const { asked, decided } = ofCommand("git status", { cwd, ...more });
    assert.ok("permission" in asked);
    const { title, detail, alwaysRules } = asked.permission;
    return { title, detail, rule: alwaysRules[0], decided };
  };
  const title = "Run a command, without the sandbox if that stops it";
  const within = 'in "deep/er": git status';
  const once = { permission: "once" };
  assert.deepEqual(shownIn(join(directory, "deep", "er")), {
    title,
    detail: within,
    rule: within,
    decided: once,
  });
  const ownGit = 'in ".git": git status';
  assert.deepEqual(shownIn(join(directory, ".git")), {
    title,
    detail: ownGit,
    rule: ownGit,
    decided: undefined,
  });
  const real = join(folder, "outside");
  const outside = `in "${real}": git status`;
  for (const cwd of [real, join(directory, "link"), join(directory, "..", "outside")]) {
    assert.deepEqual(shownIn(cwd), {
      title: "Run a command outside the session's directory, without the sandbox if that stops it",
      detail: outside,
      rule: outside,
      decided: undefined,
    });
    assert.deepEqual(ofCommand("git status", { cwd }, refuses).decided, { permission: "reject" });
  }
  assert.equal(
    shownIn(real, { reason: "May I?" }).rule,
    `outside the sandbox: in "${real}": git status`,
  );
  assert.equal(shownIn(null).decided, undefined);
});

test("running outside the sandbox is asked about even for an allowed command, or refused", () => {
  const { asked, decided } = ofCommand("git status", { reason: "May I?" });
  assert.equal(decided, undefined);
  assert.deepEqual(asked, {
    permission: {
      title: "Run a command outside the sandbox: May I?",
      detail: "git status",
      alwaysRules: ["outside the sandbox: git status"],
    },
  });
  const refused = ofCommand("git status", { reason: "May I?" }, refuses);
  assert.deepEqual(refused.decided, { permission: "reject" });
});

test("changes in the session's directory are allowed; others are asked about or refused", () => {
  const inside = [change(join(directory, "a.txt")), change("b/c.txt", { type: "add" })];
  assert.deepEqual(ofFiles(inside).decided, { permission: "once" });
  const outside = [
    [change(join(folder, "x.txt"))],
    [...inside, change("../x.txt")],
    // A link leads out of the directory.
    [change(join(directory, "link", "x.txt"), { type: "add" })],
    [change(join(directory, "dangling"), { type: "add" })],
    [change(join(directory, "a.txt"), { type: "update", move_path: join(folder, "x.txt") })],
    // A hook of git would run later, without a sandbox.
    [change(join(directory, ".git", "hooks", "pre-commit"), { type: "add" })],
    [],
  ];
  for (const changes of outside) {
    assert.equal(ofFiles(changes).decided, undefined, JSON.stringify(changes));
    assert.deepEqual(ofFiles(changes, {}, refuses).decided, { permission: "reject" });
  }
  assert.equal(ofFiles(inside, { grantRoot: "/" }).decided, undefined);
  const { asked } = ofFiles([change("../x.txt")]);
  assert.ok("permission" in asked);
  assert.match(asked.permission.detail ?? "", /^update \.\.\/x\.txt\n@@/);
});

test("answers are matched to questions by their order", () => {
  const questions = ["a", "b"].map((id) => ({
    id,
    header: id,
    question: `${id}?`,
    isOther: id === "a",
    options: [{ label: "Yes", description: "" }],
  }));
  const method = "item/tool/requestUserInput";
  const params = { itemId: "call", questions };
  const { asked, reply } = readRequest(method, params, undefined, { directory, policy: asks })!;
  assert.deepEqual(asked, {
    questions: [
      {
        question: "a?",
        options: [{ label: "Yes", description: null }],
        multiple: false,
        freeText: true,
      },
      {
        question: "b?",
        options: [{ label: "Yes", description: null }],
        multiple: false,
        freeText: false,
      },
    ],
  });
  assert.deepEqual(reply({ answers: [["Yes"], ["No"]] }), {
    answers: { a: { answers: ["Yes"] }, b: { answers: ["No"] } },
  });
  assert.deepEqual(reply({ dismiss: true }), { answers: {} });
});

test("an unknown kind of request is not read", () => {
  const place = { directory, policy: asks };
  assert.equal(readRequest("attestation/generate", {}, undefined, place), undefined);
});
