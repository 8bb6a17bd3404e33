// Files of a repository that opencode would run without asking.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createRepository, git } from "@hawser/testkit/git-repository.ts";
import { findProjectConfig, sparsePatterns } from "./project-config.ts";

function makeRepository(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hawser-config-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, ".opencode"));
  return createRepository(join(folder, "repository"));
}

test("files above the repository do not count", (t) => {
  assert.deepEqual(findProjectConfig(makeRepository(t)), []);
});

test("files are found in the directory and its parents, up to the top of the repository", (t) => {
  const repository = makeRepository(t);
  // Contains nothing that opencode would run.
  mkdirSync(join(repository, ".opencode"));
  const below = join(repository, "packages", "one");
  mkdirSync(join(below, ".opencode", "plugin"), { recursive: true });
  writeFileSync(join(repository, "opencode.jsonc"), "{}");
  writeFileSync(join(repository, "opencode.json"), "{}");
  assert.deepEqual(findProjectConfig(below), [
    "../../opencode.json",
    "../../opencode.jsonc",
    ".opencode",
  ]);
  assert.deepEqual(findProjectConfig(repository), ["opencode.json", "opencode.jsonc"]);
});

test("a sparse checkout with the patterns contains everything else", (t) => {
  const repository = makeRepository(t);
  mkdirSync(join(repository, "a", ".opencode", "plugin"), { recursive: true });
  writeFileSync(join(repository, "a", ".opencode", "plugin", "x.js"), "");
  writeFileSync(join(repository, "a", "kept.txt"), "");
  mkdirSync(join(repository, ".opencode"));
  writeFileSync(join(repository, ".opencode", "agent.md"), "");
  writeFileSync(join(repository, "opencode.json"), "{}");
  git(repository, "add", ".");
  git(repository, "commit", "--quiet", "--message=poison");
  const tree = join(repository, "..", "tree");
  git(repository, "worktree", "add", "--quiet", "--no-checkout", tree);
  execFileSync("git", ["-C", tree, "sparse-checkout", "set", "--no-cone", "--stdin"], {
    input: sparsePatterns.join("\n"),
    stdio: ["pipe", "ignore", "ignore"],
  });
  git(tree, "checkout", "--quiet");
  assert.ok(existsSync(join(tree, "README.md")) && existsSync(join(tree, "a", "kept.txt")));
  assert.deepEqual(findProjectConfig(tree), []);
  assert.deepEqual(findProjectConfig(join(tree, "a")), []);
});
