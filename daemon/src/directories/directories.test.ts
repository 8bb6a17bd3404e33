// The host's directories, as callers may see them: real repositories made by git, and every way out of
// a root that we know of (T12).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Worker } from "node:worker_threads";
import { createRepository, git } from "@hawser/testkit/git-repository.ts";
import { allowAll } from "../policy/policy.ts";
import { createDirectories } from "./directories.ts";

const place = realpathSync(mkdtempSync(join(tmpdir(), "hawser-directories-")));
after(() => rmSync(place, { recursive: true, force: true }));

let count = 0;
function createRoot(): string {
  const root = join(place, `root-${++count}`);
  mkdirSync(root);
  return root;
}

const open = (roots: string[], limitBytes?: number) =>
  createDirectories(() => ({ ...allowAll, roots }), limitBytes);

const plain = { isGitRepository: false, branch: null, remote: null };

test("a folder root shows its projects, and a repository root itself", async () => {
  const root = createRoot();
  const widget = createRepository(join(root, "widget"));
  git(widget, "checkout", "-q", "-b", "topic/one");
  git(widget, "remote", "add", "origin", "https://ada:hunter2@code.example/widget.git");
  mkdirSync(join(root, "notes"));
  mkdirSync(join(root, ".cache"));
  mkdirSync(join(root, "hollow", ".git"), { recursive: true });
  writeFileSync(join(root, "file"), "");
  symlinkSync("/etc", join(root, "link"));
  const directories = open([root, widget]);
  const remote = "https://code.example/widget.git";
  const facts = { isGitRepository: true, branch: "topic/one", remote };
  assert.deepEqual(await directories.list(), [
    {
      path: root,
      type: "folder",
      ...plain,
      children: [
        { path: join(root, "hollow"), ...plain },
        { path: join(root, "notes"), ...plain },
        { path: widget, ...facts },
      ],
      truncated: false,
    },
    { path: widget, type: "repository", ...facts, children: [], truncated: false },
  ]);
  assert.deepEqual(await directories.roots(), {
    roots: [
      { path: root, type: "folder", ...plain },
      { path: widget, type: "repository", ...facts },
    ],
    warnings: [],
  });
  const browsed = await directories.browse(root);
  assert.deepEqual(
    browsed!.directories.map(({ path }) => path.slice(root.length + 1)),
    [".cache", "hollow", "notes", "widget"],
  );
  assert.deepEqual(await directories.browse(widget), { directories: [], truncated: false });
  assert.equal(await directories.browse(join(widget, ".git")), undefined);
});

test("what changes is seen, with what did not change kept", async () => {
  const root = createRoot();
  const directories = open([root]);
  const widget = createRepository(join(root, "widget"));
  const branchNow = async () => (await directories.describe(widget))!.branch;
  // Older than the tick in which a file may change twice, so that it is kept.
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal(await branchNow(), "main");
  assert.equal((await directories.list())[0]!.children[0]!.branch, "main");
  git(widget, "checkout", "-q", "-b", "topic");
  assert.equal(await branchNow(), "topic");
  assert.equal((await directories.list())[0]!.children[0]!.branch, "topic");
  git(widget, "remote", "add", "origin", "https://h/r");
  assert.equal((await directories.describe(widget))!.remote, "https://h/r");
  git(widget, "checkout", "-q", "--detach");
  assert.equal(await branchNow(), null);
  rmSync(join(widget, ".git"), { recursive: true });
  assert.deepEqual(await directories.describe(widget), { path: widget, ...plain });
  git(root, "init", "-q", "--initial-branch=again", widget);
  assert.equal(await branchNow(), "again");
});

test("the remote is that of the branch, else origin, else the only one", async () => {
  const root = createRoot();
  const directories = open([root]);
  const widget = createRepository(join(root, "widget"));
  const remoteNow = async () => (await directories.describe(widget))!.remote;
  assert.equal(await remoteNow(), null);
  git(widget, "remote", "add", "fork", "ssh://git@h/fork");
  assert.equal(await remoteNow(), "ssh://git@h/fork");
  git(widget, "remote", "add", "other", "git@h:other");
  assert.equal(await remoteNow(), null);
  git(widget, "remote", "add", "origin", "https://h/origin");
  assert.equal(await remoteNow(), "https://h/origin");
  git(widget, "config", "branch.main.remote", "fork");
  assert.equal(await remoteNow(), "ssh://git@h/fork");
});

test("a worktree has its own branch and the repository's remote, also from outside of the roots", async () => {
  const root = createRoot();
  const outside = createRepository(join(createRoot(), "main"));
  git(outside, "remote", "add", "origin", "https://h/r");
  git(outside, "worktree", "add", "-q", "-b", "side", join(root, "tree"));
  const [listing] = await open([root]).list();
  assert.deepEqual(listing!.children, [
    { path: join(root, "tree"), isGitRepository: true, branch: "side", remote: "https://h/r" },
  ]);
});

test("a .git that points at another user's repository reveals nothing of it", async () => {
  const root = createRoot();
  const secret = createRepository(join(createRoot(), "secret"));
  git(secret, "checkout", "-q", "-b", "acquisition");
  mkdirSync(join(root, "file"));
  writeFileSync(join(root, "file", ".git"), `gitdir: ${secret}/.git\n`);
  mkdirSync(join(root, "link"));
  symlinkSync(join(secret, ".git"), join(root, "link", ".git"));
  mkdirSync(join(root, "head", ".git"), { recursive: true });
  symlinkSync(join(secret, ".git", "HEAD"), join(root, "head", ".git", "HEAD"));
  const told = JSON.stringify(await open([root]).list());
  assert.doesNotMatch(told, /acquisition/);
});

test("a pipe in a file's place does not hold anyone up", async () => {
  const root = createRoot();
  mkdirSync(join(root, "x", ".git"), { recursive: true });
  execFileSync("mkfifo", [join(root, "x", ".git", "HEAD"), join(root, "x", ".git", "config")]);
  assert.equal((await open([root]).list())[0]!.children.length, 1);
});

test("no way of writing a path leads out of the roots", async () => {
  const root = createRoot();
  const evil = `${root}-evil`;
  mkdirSync(evil);
  mkdirSync(join(root, "in"));
  mkdirSync(join(root, "in", "deep"));
  symlinkSync("/etc", join(root, "etc"));
  symlinkSync(evil, join(root, "in", "evil"));
  symlinkSync("..", join(root, "in", "up"));
  symlinkSync("loop", join(root, "loop"));
  writeFileSync(join(root, "file"), "");
  const directories = open([root]);
  for (const path of [
    "/",
    "/etc",
    evil,
    place,
    `${root}/..`,
    `${root}/../..`,
    `${root}/in/../../root-1-evil`,
    `${root}/etc`,
    `${root}/etc/..`,
    `${root}/etc/ssl`,
    `${root}/in/evil`,
    `${root}/loop`,
    `${root}/file`,
    `${root}/file/`,
    `${root}/missing`,
    `${root}\0`,
    `${root}\0/../../etc`,
    `${root}/${"x/".repeat(2048)}`,
    `${root}/${"x".repeat(4096)}`,
    `${root}/${"./".repeat(2048)}`,
    `/proc/self/root${root}/../..`,
    "",
    ".",
    "in",
  ]) {
    assert.equal(await directories.browse(path), undefined, JSON.stringify(path));
  }
  const shown = { directories: [{ path: join(root, "in", "deep"), ...plain }], truncated: false };
  for (const path of [
    "/in",
    "//in",
    "/in/",
    "/in/.",
    "/in//",
    "/in/up/in",
    "/in/deep/..",
    "/./in",
  ]) {
    assert.deepEqual(await directories.browse(`${root}${path}`), shown, path);
  }
});

test("a root that is a link is shown as it is written", async () => {
  const real = createRoot();
  mkdirSync(join(real, "project", "src"), { recursive: true });
  const root = join(place, "linked");
  symlinkSync(real, root);
  const directories = open([root]);
  const [listing] = await directories.list();
  assert.equal(listing!.path, root);
  assert.equal(listing!.children[0]!.path, join(root, "project"));
  const expected = [join(root, "project", "src")];
  for (const path of [join(root, "project"), join(real, "project")]) {
    const { directories: found } = (await directories.browse(path))!;
    assert.deepEqual(
      found.map(({ path }) => path),
      expected,
    );
  }
});

test("a root that is gone, or is a file, is a warning", async () => {
  const root = createRoot();
  const file = join(root, "file");
  writeFileSync(file, "");
  const directories = open([join(place, "gone"), file, root]);
  assert.deepEqual(
    (await directories.list()).map(({ path }) => path),
    [root],
  );
  const { roots, warnings } = await directories.roots();
  assert.deepEqual(
    roots.map(({ path }) => path),
    [root],
  );
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ["root_missing", "root_missing"],
  );
  assert.equal(await directories.browse(join(place, "gone")), undefined);
  assert.equal(await directories.browse(file), undefined);
});

test("of two roots one in the other, each is what it is", async () => {
  const outer = createRoot();
  const inner = join(outer, "inner");
  mkdirSync(join(inner, "x"), { recursive: true });
  const listings = await open([outer, inner]).list();
  assert.deepEqual(
    listings.map(({ children }) => children.map(({ path }) => path)),
    [[inner], [join(inner, "x")]],
  );
});

test("what does not fit into a reply is cut, where most is, and says so", async () => {
  const [large, small] = [createRoot(), createRoot()];
  for (let i = 0; i < 100; i++) mkdirSync(join(large, `project-${String(i).padStart(3, "0")}`));
  mkdirSync(join(small, "one"));
  const directories = open([large, small], 5_000);
  const listings = await directories.list();
  assert.ok(Buffer.byteLength(JSON.stringify(listings)) <= 5_000);
  assert.equal(listings[0]!.truncated, true);
  assert.ok(listings[0]!.children.length > 20);
  assert.equal(listings[0]!.children[0]!.path, join(large, "project-000"));
  assert.equal(listings[1]!.truncated, false);
  assert.equal(listings[1]!.children.length, 1);
  const browsed = (await directories.browse(large))!;
  assert.equal(browsed.truncated, true);
  assert.ok(browsed.directories.length > 20);
});

// 10,000 tries take half a minute: HAWSER_RACES=10000 npm test daemon/src/directories
const races = Number(process.env["HAWSER_RACES"] ?? 500);

test(`a link swapped in during ${races} calls never shows what lies outside`, async () => {
  const root = createRoot();
  const outside = createRoot();
  mkdirSync(join(root, "a", "target", "inside"), { recursive: true });
  mkdirSync(join(outside, "target", "secret"), { recursive: true });
  symlinkSync(outside, join(root, "link"));
  const swapper = new Worker(
    `const { renameSync } = require("node:fs");
     const { workerData: root } = require("node:worker_threads");
     for (;;) {
       renameSync(root + "/a", root + "/kept");
       renameSync(root + "/link", root + "/a");
       renameSync(root + "/a", root + "/link");
       renameSync(root + "/kept", root + "/a");
     }`,
    { eval: true, workerData: root },
  );
  const seen = { inside: 0, nothing: 0 };
  const directories = open([root]);
  try {
    for (let i = 0; i < races; i++) {
      const contents = await directories.browse(join(root, "a", "target"));
      const told = JSON.stringify([contents, await directories.list()]);
      assert.doesNotMatch(told, /secret/);
      if (contents?.directories.length) seen.inside++;
      else seen.nothing++;
    }
  } finally {
    await swapper.terminate();
  }
  // Both must have happened, or nothing was raced.
  assert.ok(seen.inside > 0 && seen.nothing > 0, JSON.stringify(seen));
});
