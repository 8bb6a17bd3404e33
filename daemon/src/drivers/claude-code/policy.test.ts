import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { AgentPolicy } from "@hawser/contract";
import { decide } from "./policy.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-policy-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const directory = join(folder, "tree");
mkdirSync(join(directory, ".git"), { recursive: true });
symlinkSync(join(folder, "not-there-yet"), join(directory, "dangling"));
symlinkSync(folder, join(directory, "up"));
symlinkSync("loop", join(directory, "loop"));

const policy: AgentPolicy = {
  allowedCommands: ["echo *", "git status", "npm test -- a b"],
  outsideWorktree: "ask",
};

test("a command runs without asking only if each of its parts is listed", () => {
  const decisions: [string, "allow" | "ask"][] = [
    ["echo hi", "allow"],
    ["echo", "allow"],
    ["echo 'a b'", "allow"],
    ["git status", "allow"],
    ["npm test -- a b", "allow"],
    ["echo one; echo two && git status", "allow"],
    ["git status --short", "ask"],
    ["echoes hi", "ask"],
    ["echo hi; rm x", "ask"],
    ["echo hi && rm x", "ask"],
    ["echo hi || rm x", "ask"],
    ["echo hi | sh", "ask"],
    ["echo hi & rm x", "ask"],
    ["echo hi &", "ask"],
    ["echo hi\nrm x", "ask"],
    ["echo hi > x", "ask"],
    ["echo $(rm x)", "ask"],
    ["echo `rm x`", "ask"],
    ["echo $HOME", "ask"],
    ["echo 'a; b'", "ask"],
    ["", "ask"],
    ["ls", "ask"],
  ];
  for (const [command, expected] of decisions) {
    const input = { tool_name: "Bash", tool_input: { command } };
    assert.equal(decide(policy, directory, input), expected, command);
    assert.equal(decide(policy, directory, { ...input, permission_mode: "plan" }), "ask", command);
  }
});

test("files are written without asking only in the session's directory, with links resolved", () => {
  const places: [string, "allow" | "ask"][] = [
    ["new.txt", "allow"],
    [join(directory, "deep", "new.txt"), "allow"],
    ["..hidden", "allow"],
    ["up/other.txt", "ask"],
    ["dangling", "ask"],
    ["loop", "ask"],
    ["../other.txt", "ask"],
    ["/etc/passwd", "ask"],
    [".git/hooks/pre-commit", "ask"],
    [".GIT/config", "ask"],
  ];
  for (const [path, expected] of places) {
    const input = { tool_name: "Write", tool_input: { file_path: path } };
    assert.equal(decide(policy, directory, input), expected, path);
    assert.equal(decide(policy, directory, { ...input, permission_mode: "plan" }), "ask", path);
  }
  const strict: AgentPolicy = { ...policy, outsideWorktree: "refuse" };
  const outside = { tool_name: "Edit", tool_input: { file_path: "/etc/passwd" } };
  assert.equal(decide(strict, directory, outside), "deny");
});

test("a prompt's attachment may be read, and no other file beside it", () => {
  const read = (file_path: string) => ({ tool_name: "Read", tool_input: { file_path } });
  assert.equal(decide(policy, directory, read("/state/1/0"), ["/state/1/0"]), "allow");
  for (const path of ["/state/1/1", "/state/1", "/state/1/../1/0"]) {
    assert.equal(decide(policy, directory, read(path), ["/state/1/0"]), undefined, path);
  }
  const write = { tool_name: "Write", tool_input: { file_path: "/state/1/0" } };
  assert.equal(decide(policy, directory, write, ["/state/1/0"]), "ask");
});

test("everything else is left to Claude Code's own rules", () => {
  const input = { tool_name: "WebFetch", tool_input: { url: "https://a.example" } };
  assert.equal(decide(policy, directory, input), undefined);
});
