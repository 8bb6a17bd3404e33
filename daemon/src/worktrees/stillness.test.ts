// Whether a session's own tree is still as it was: every change is seen, and a fresh one is never vouched for.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createRepository } from "@hawser/testkit/git-repository.ts";
import { createGit } from "../git/git.ts";
import { createStillness } from "./stillness.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-stillness-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const git = createGit();
let made = 0;

function makeTree() {
  const repository = createRepository(join(folder, `repository-${++made}`));
  const directory = join(folder, `tree-${made}`);
  const run = (place: string, ...args: string[]) =>
    execFileSync("git", ["-C", place, "-c", "user.name=a", "-c", "user.email=a@b.c", ...args]);
  run(repository, "worktree", "add", "-q", "-b", "own", directory);
  mkdirSync(join(directory, "deep/er"), { recursive: true });
  writeFileSync(join(directory, "deep/er/file"), "one");
  writeFileSync(join(directory, ".gitignore"), "built/\n");
  mkdirSync(join(directory, "built"));
  run(directory, "add", "-A");
  run(directory, "commit", "-qm", "more");
  const adminDirectory = join(repository, ".git/worktrees", `tree-${made}`);
  return {
    tree: { directory, repository, adminDirectory, branch: "own" },
    index: join(adminDirectory, "index"),
    run: (...args: string[]) => run(directory, ...args),
  };
}

const changes: Record<string, (world: ReturnType<typeof makeTree>) => void> = {
  "a file that is written": ({ tree }) =>
    writeFileSync(join(tree.directory, "deep/er/file"), "two"),
  "a file that is written and given its old time": ({ tree }) => {
    const path = join(tree.directory, "deep/er/file");
    writeFileSync(path, "two");
    utimesSync(path, new Date(0), new Date(0));
  },
  "a new file": ({ tree }) => writeFileSync(join(tree.directory, "deep/new"), "x"),
  "a new file in a new directory": ({ tree }) => {
    mkdirSync(join(tree.directory, "other"));
    writeFileSync(join(tree.directory, "other/new"), "x");
  },
  "a file that goes": ({ tree }) => rmSync(join(tree.directory, "deep/er/file")),
  "a file that becomes a link": ({ tree }) => {
    rmSync(join(tree.directory, "deep/er/file"));
    symlinkSync("elsewhere", join(tree.directory, "deep/er/file"));
  },
  "what is staged": ({ run }) => run("rm", "-q", "--cached", "deep/er/file"),
  "a commit": ({ run }) => run("commit", "-q", "--allow-empty", "-m", "empty"),
  "another HEAD": ({ run }) => run("checkout", "-q", "--detach"),
};

for (const [what, change] of Object.entries(changes)) {
  test(`${what} is seen`, async () => {
    const world = makeTree();
    await sleep(80);
    const stillness = await createStillness(git, world.tree, world.index, Date.now());
    assert.equal(stillness?.holds(), true);
    change(world);
    assert.equal(stillness?.holds(), false);
  });
}

test("a commit in a clone is seen, on whatever branch, also where no reflog has it", async () => {
  const directory = createRepository(join(folder, "clone"));
  const run = (...args: string[]) =>
    execFileSync("git", ["-C", directory, "-c", "user.name=a", "-c", "user.email=a@b.c", ...args]);
  run("config", "core.logAllRefUpdates", "false");
  run("checkout", "-q", "-b", "side");
  run("commit", "-q", "--allow-empty", "-m", "empty");
  const adminDirectory = join(directory, ".git");
  const tree = { directory, repository: directory, adminDirectory, branch: null };
  await sleep(80);
  const stillness = await createStillness(git, tree, join(adminDirectory, "index"), Date.now());
  assert.equal(stillness?.holds(), true);
  run("update-ref", "refs/heads/side", "HEAD~1");
  assert.equal(stillness?.holds(), false);
});

test("an ignored file is nobody's business", async () => {
  const world = makeTree();
  await sleep(80);
  const stillness = await createStillness(git, world.tree, world.index, Date.now());
  writeFileSync(join(world.tree.directory, "built/output"), "x");
  assert.equal(stillness?.holds(), true);
});

test("what was just written is not vouched for", async () => {
  const world = makeTree();
  const begunAt = Date.now();
  writeFileSync(join(world.tree.directory, "deep/er/file"), "two");
  assert.equal(await createStillness(git, world.tree, world.index, begunAt), undefined);
});
