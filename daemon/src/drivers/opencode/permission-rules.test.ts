// The policy's decision on commands, as a table.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentPolicy } from "@hawser/contract";
import { decide, rulesOf } from "./permission-rules.ts";

const policy: AgentPolicy = {
  allowedCommands: ["git status", "echo *", "make > log", "cd deep && git status"],
  outsideWorktree: "ask",
};

const table: [command: string, parts: string[], decision: string][] = [
  ["git status", ["git status"], "allow"],
  ["git status -s", ["git status -s"], "ask"],
  ["echo", ["echo"], "allow"],
  ["echo hi", ["echo hi"], "allow"],
  ["echoing", ["echoing"], "ask"],
  ["echo hi && git status", ["echo hi", "git status"], "allow"],
  ["echo hi && rm -rf x", ["echo hi", "rm -rf x"], "ask"],
  ["echo hi | sh", ["echo hi", "sh"], "ask"],
  ["echo hi > ~/.profile", ["echo hi > ~/.profile"], "ask"],
  ["echo $(rm x)", ["echo $(rm x)"], "ask"],
  ["echo `rm x`", ["echo `rm x`"], "ask"],
  ["echo a\nrm x", ["echo a"], "ask"],
  ["make > log", ["make > log", "cd deep && git status"], "allow"],
  ["> file", [], "ask"],
  ["cd && git status", ["git status"], "ask"],
  ["git status;cd", ["git status"], "ask"],
  ["cd - ; git status", ["git status"], "ask"],
  ["pushd / && git status", ["git status"], "ask"],
  ["popd|echo hi", ["echo hi"], "ask"],
  ["cd sub && git status", ["git status"], "ask"],
  ["cd deep && git status", ["git status"], "allow"],
  ["echo src/cd/a abcd cd-rom", ["echo src/cd/a abcd cd-rom"], "allow"],
];

for (const [command, patterns, decision] of table) {
  test(`${JSON.stringify(command)}: ${decision}`, () => {
    const request = { id: "per_1", sessionID: "ses_1", permission: "bash", patterns };
    assert.equal(decide(policy, { ...request, metadata: { command } }, "/srv"), decision);
  });
}

test("changes outside the directory are asked about or refused, as the policy says", () => {
  const request = {
    id: "per_1",
    sessionID: "ses_1",
    permission: "external_directory",
    patterns: ["/etc/*"],
    metadata: {},
  };
  assert.equal(decide(policy, request, "/srv"), "ask");
  assert.equal(decide({ ...policy, outsideWorktree: "refuse" }, request, "/srv"), "refuse");
  const action = (outsideWorktree: "ask" | "refuse") =>
    rulesOf({ ...policy, outsideWorktree }).find(
      ({ permission }) => permission === "external_directory",
    )?.action;
  assert.equal(action("ask"), "ask");
  assert.equal(action("refuse"), "deny");
});
