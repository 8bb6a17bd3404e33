import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readRequest } from "./asked.ts";
import type { FileChange } from "./protocol.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-asked-"));
const directory = join(folder, "tree");
mkdirSync(directory);
after(() => rmSync(folder, { recursive: true, force: true }));

function ofCommand(command: string, more: object = {}) {
  const shown = `/bin/bash -lc '${command}'`;
  const params = { kind: "command", itemId: "call", command: shown, cwd: directory, ...more };
  return readRequest("item/commandExecution/requestApproval", params, undefined, directory)!;
}

function ofFiles(changes: FileChange[], more: object = {}) {
  const item = { type: "fileChange" as const, id: "call", changes, status: "inProgress" as const };
  const method = "item/fileChange/requestApproval";
  return readRequest(method, { itemId: "call", ...more }, item, directory)!;
}

const change = (path: string, kind: FileChange["kind"] = { type: "update" }): FileChange => ({
  path,
  kind,
  diff: "@@ -1 +1 @@\n-a\n+b\n",
});

test("a request for a command counts as leaving the sandbox, and its rule covers nothing else", () => {
  const { asked, call, reply } = ofCommand("touch a && rm b", { reason: "May I?" });
  assert.deepEqual(asked, {
    permission: {
      title: "Run a command outside the sandbox: May I?",
      detail: "touch a && rm b",
      alwaysRules: ["outside the sandbox: touch a && rm b"],
    },
  });
  const command = "touch a && rm b";
  const about = { type: "execute", callId: "call", command, cwd: directory };
  assert.deepEqual(call, { ...about, leavesSandbox: true });
  assert.deepEqual(reply({ permission: "once" }), { decision: "accept" });
  assert.deepEqual(reply({ permission: "reject" }), { decision: "decline" });
  // Codex asks in the same words about `rm -f`, which it would keep in the sandbox.
  const unexplained = ofCommand("rm -f b");
  assert.ok("permission" in unexplained.asked && unexplained.call.type === "execute");
  assert.match(unexplained.asked.permission.title, /possibly outside the sandbox/);
  assert.equal(unexplained.call.leavesSandbox, true);
});

test("another directory than the session's own is shown and has its own rule", () => {
  const ruleIn = (cwd: string | null) => {
    const { asked } = ofCommand("git status", { cwd });
    return "permission" in asked && asked.permission.alwaysRules[0];
  };
  const deep = join(directory, "deep", "er");
  assert.equal(ruleIn(deep), 'outside the sandbox: in "deep/er": git status');
  assert.equal(ruleIn(folder), `outside the sandbox: in "${folder}": git status`);
  assert.equal(ruleIn(null), "outside the sandbox: in an unknown directory: git status");
});

test("the network and a running command's input are calls of their own", () => {
  const network = ofCommand("curl x", { networkApprovalContext: { host: "x", protocol: "https" } });
  assert.deepEqual(network.call, { type: "fetch", callId: "call", target: "https x" });
  const typing = ofCommand("bash", { kind: "writeStdin" });
  assert.deepEqual(typing.call, { type: "other", callId: "call", tool: "write_stdin" });
});

test("a request for a change names every path that it touches", () => {
  const moved = change(join(directory, "a.txt"), { type: "update", move_path: "/b.txt" });
  const { asked, call } = ofFiles([moved], { grantRoot: "/root" });
  const paths = [join(directory, "a.txt"), "/b.txt", "/root"];
  assert.deepEqual(call, { type: "edit", callId: "call", paths, leavesSandbox: true });
  assert.ok("permission" in asked);
  assert.match(asked.permission.detail ?? "", /^update .*\/a\.txt, move to \/b\.txt\n@@/);
  const { call: unknown } = ofFiles([]);
  assert.deepEqual(unknown, { type: "edit", callId: "call", paths: [], leavesSandbox: true });
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
  const { asked, reply } = readRequest(method, params, undefined, directory)!;
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
  assert.equal(readRequest("attestation/generate", {}, undefined, directory), undefined);
});
