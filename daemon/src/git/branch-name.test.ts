// Whatever a title holds, the branch is a valid ref below hawser/ that no shell minds (T9).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { isBranchName, makeBranchName } from "./branch-name.ts";

const id = "k3v9x2";

for (const [title, name] of [
  ["Fix the login page", "hawser/fix-the-login-page-k3v9x2"],
  ["", "hawser/k3v9x2"],
  ["  --force  ", "hawser/force-k3v9x2"],
  ["; rm -rf / #", "hawser/rm-rf-k3v9x2"],
  ["$(touch x) `id` | & > <", "hawser/touch-x-id-k3v9x2"],
  ["../../main", "hawser/main-k3v9x2"],
  ["refs/heads/main", "hawser/refs-heads-main-k3v9x2"],
  ["@{-1}", "hawser/1-k3v9x2"],
  ["x.lock", "hawser/x-lock-k3v9x2"],
  ["a..b~1^2:c?*[\\", "hawser/a-b-1-2-c-k3v9x2"],
  ["line\nbreak\0\u001b[31m", "hawser/line-break-31m-k3v9x2"],
  ["Ünïcödé ﬁnal Ａ", "hawser/unicode-final-a-k3v9x2"],
  ["\u202egnirts\u200b\u2066", "hawser/gnirts-k3v9x2"],
  ["日本語 🚀", "hawser/k3v9x2"],
  ["İ", "hawser/i-k3v9x2"],
  ["x".repeat(5000), `hawser/${"x".repeat(40)}-k3v9x2`],
  [`${"x".repeat(39)} y`, `hawser/${"x".repeat(39)}-k3v9x2`],
] as const) {
  test(`${JSON.stringify(title.slice(0, 40))} gives ${name}`, () => {
    assert.equal(makeBranchName(title, id), name);
    assert.ok(isBranchName(name));
    assert.equal(spawnSync("git", ["check-ref-format", "--branch", name]).status, 0);
  });
}

test("what we did not make is no name of ours, though git takes it", () => {
  for (const name of ["hawser/;id", "hawser/-x", "hawser/a--b", "@", "refs/heads/x", "main"]) {
    assert.equal(isBranchName(name), false, name);
  }
  for (const name of ["hawser/", "hawser/a/b", "hawser/a\n", "hawser/A"]) {
    assert.equal(isBranchName(name), false, name);
  }
});

test("an id with anything else in it is our own mistake", () => {
  for (const odd of ["", "x", "../../x", "ABCDEF", "abc def"]) {
    assert.throws(() => makeBranchName("title", odd));
  }
});
