// Plugins of a repository, which opencode would run without asking.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createRepository, git } from "@hawser/testkit/git-repository.ts";
import { findIgnoredConfig, findProjectConfig, sparsePatterns } from "./project-config.ts";

function makeRepository(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hawser-config-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, ".opencode"));
  return createRepository(join(folder, "repository"));
}

test("files above the repository do not count", (t) => {
  assert.deepEqual(findProjectConfig(makeRepository(t)), []);
});

test("plugins are found in the directory and its parents, up to the top of the repository", (t) => {
  const repository = makeRepository(t);
  const below = join(repository, "packages", "one");
  mkdirSync(join(repository, ".opencode", "command"), { recursive: true });
  mkdirSync(join(repository, ".opencode", "plugins"));
  mkdirSync(join(below, ".opencode", "plugin"), { recursive: true });
  writeFileSync(join(repository, "opencode.jsonc"), "{}");
  assert.deepEqual(findProjectConfig(below), []);
  writeFileSync(join(below, ".opencode", "plugin", "x.js"), "");
  writeFileSync(join(repository, "opencode.json"), '{"plugin":["./x.js"]}');
  assert.deepEqual(findProjectConfig(below), ["../../opencode.json", ".opencode"]);
  assert.deepEqual(findProjectConfig(repository), ["opencode.json"]);
  assert.deepEqual(findIgnoredConfig(repository), [".opencode", "opencode.json", "opencode.jsonc"]);
});

test("settings that could name a plugin in other words count too", (t) => {
  const repository = makeRepository(t);
  const file = join(repository, "opencode.json");
  const doubtful = [
    '{"PLUGIN":[]}',
    '{"\\u0070lugin":["./x.js"]}',
    "{file:./hidden.json}",
    '{ "x": "{ env:HIDDEN }" }',
    "// plugin\n{}",
    "{} // not tried",
    '{"references":{"a":{"repository":"../x"}}}',
    '{"mcp":{},"unknown":1}',
    '{"__proto__":{}}',
  ];
  for (const text of doubtful) {
    writeFileSync(file, text);
    assert.deepEqual(findProjectConfig(repository), ["opencode.json"], text);
  }
  rmSync(file);
  symlinkSync("/none", file);
  assert.deepEqual(findProjectConfig(repository), ["opencode.json"], "a link that leads nowhere");
  rmSync(file);
  mkdirSync(join(repository, ".opencode"));
  symlinkSync("/none", join(repository, ".opencode", "plugin"));
  assert.deepEqual(findProjectConfig(repository), [".opencode"]);
});

test("what cannot be read counts, and nobody waits for it", (t) => {
  const repository = makeRepository(t);
  const folder = join(repository, ".opencode");
  for (const target of ["/none", ".opencode"]) {
    symlinkSync(target, folder);
    assert.deepEqual(findProjectConfig(repository), [".opencode"], target);
    rmSync(folder);
  }
  const file = join(repository, "opencode.json");
  execFileSync("mkfifo", [file]);
  assert.deepEqual(findProjectConfig(repository), ["opencode.json"], "a pipe");
  rmSync(file);
  symlinkSync("/dev/zero", file);
  assert.deepEqual(findProjectConfig(repository), ["opencode.json"], "an endless file");
  rmSync(file);
  const below = join(repository, "below");
  mkdirSync(join(below, ".git"), { recursive: true });
  execFileSync("mkfifo", [join(below, ".git", "HEAD")]);
  assert.deepEqual(findProjectConfig(below), []);
});

test("a directory that cannot be listed is searched too", (t) => {
  const repository = makeRepository(t);
  chmodSync(join(repository, ".."), 0o755);
  // Root could list every directory, so the search runs as another user.
  const isRoot = process.getuid?.() === 0;
  const find = () => {
    if (isRoot) process.seteuid!(65_534);
    try {
      assert.throws(() => readdirSync(join(repository, ".opencode")), { code: "EACCES" });
      return findProjectConfig(repository);
    } finally {
      if (isRoot) process.seteuid!(0);
    }
  };
  mkdirSync(join(repository, ".opencode"));
  writeFileSync(join(repository, ".opencode", "opencode.json"), '{"plugin":["../x.js"]}');
  try {
    chmodSync(join(repository, ".opencode"), 0o111);
    assert.deepEqual(find(), [".opencode"]);
    writeFileSync(join(repository, "opencode.json"), '{"plugin":["./x.js"]}');
    chmodSync(repository, 0o111);
    assert.deepEqual(find(), [".opencode", "opencode.json"]);
  } finally {
    for (const path of [repository, join(repository, ".opencode")]) chmodSync(path, 0o755);
  }
});

test("an entry that is only called .git is no top of a repository", (t) => {
  const repository = makeRepository(t);
  mkdirSync(join(repository, ".opencode", "plugin"), { recursive: true });
  writeFileSync(join(repository, ".opencode", "plugin", "x.js"), "");
  for (const name of ["empty", "file", "headless"]) mkdirSync(join(repository, name));
  mkdirSync(join(repository, "empty", ".git"));
  writeFileSync(join(repository, "file", ".git"), "x");
  mkdirSync(join(repository, "headless", ".git", "objects"), { recursive: true });
  mkdirSync(join(repository, "headless", ".git", "refs"));
  for (const name of ["empty", "file", "headless"])
    assert.deepEqual(findProjectConfig(join(repository, name)), ["../.opencode"], name);
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
