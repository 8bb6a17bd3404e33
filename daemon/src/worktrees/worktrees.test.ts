// Worktrees with real git: made without the files to leave out, and parked so that nothing is lost.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createGit, type Git } from "../git/git.ts";
import type { KeptWorktree } from "./park.ts";
import { createWorktrees } from "./worktrees.ts";

const place = realpathSync(mkdtempSync(join(tmpdir(), "hawser-worktrees-")));
after(() => rmSync(place, { recursive: true, force: true }));

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8" }).trim();

const worktrees = createWorktrees({
  git: createGit(),
  directory: join(place, "worktrees"),
  parkedDirectory: join(place, "parked"),
  baselinesDirectory: join(place, "baselines"),
  trustedDirectory: join(place, "trusted"),
  scratchDirectory: join(place, "scratch"),
});
const signal = AbortSignal.timeout(60_000);

let count = 0;
function makeRepository(): string {
  const repository = join(place, `project-${++count}`);
  mkdirSync(repository);
  git(repository, "init", "--quiet", "--initial-branch=main");
  git(repository, "config", "user.name", "Ada");
  git(repository, "config", "user.email", "ada@example.com");
  commit(repository, "a.txt", "one\n");
  return repository;
}

function commit(directory: string, name: string, text: string): string {
  writeFileSync(join(directory, name), text);
  git(directory, "add", name);
  git(directory, "commit", "--quiet", `--message=${name}`);
  return git(directory, "rev-parse", "HEAD");
}

async function makeWorktree(repository: string, without: string[] = []) {
  const sessionId = `ses_test${String(count).padStart(4, "0")}${process.pid}`;
  const plan = worktrees.plan({ sessionId, repository, title: "Ünïcode & more; $(rm)" });
  const made = await worktrees.make(plan, without, signal);
  const kept: KeptWorktree = { repository, branch: plan.branch, ...made };
  return { ...plan, ...made, kept, parked: join(place, "parked", sessionId) };
}

test("a worktree has a branch of its own, and leaves the user's directory as it was", async () => {
  const repository = makeRepository();
  writeFileSync(join(repository, "a.txt"), "changed by the user\n");
  const before = git(repository, "status", "--porcelain", "--branch");
  const { directory, branch, baseCommit } = await makeWorktree(repository);
  assert.match(branch, /^hawser\/unicode-more-rm-[a-z0-9]{10}$/);
  assert.equal(git(directory, "branch", "--show-current"), branch);
  assert.equal(git(directory, "rev-parse", "HEAD"), baseCommit);
  assert.equal(readFileSync(join(directory, "a.txt"), "utf8"), "one\n");
  assert.equal(git(repository, "status", "--porcelain", "--branch"), before);
  assert.equal(git(directory, "config", "user.name"), "Ada");
});

test("what is done in one repository at once is done one after the other", async () => {
  const repository = makeRepository();
  const beside = join(place, "beside");
  git(repository, "worktree", "add", "--quiet", "--detach", beside);
  const running = { now: 0, most: 0 };
  const real = createGit();
  const writing = ["worktree add", "worktree remove", "sparse-checkout set", "config --local"];
  const counting: Git = {
    ...real,
    async runIn(directory, command, call) {
      const isDeleting = call.options?.includes("--delete");
      if (!isDeleting && !writing.includes(command)) return real.runIn(directory, command, call);
      running.most = Math.max(running.most, ++running.now);
      return real.runIn(directory, command, call).finally(() => running.now--);
    },
  };
  const own = createWorktrees({
    git: counting,
    directory: join(place, "at-once", "worktrees"),
    parkedDirectory: join(place, "at-once", "parked"),
    baselinesDirectory: join(place, "at-once", "baselines"),
    trustedDirectory: join(place, "at-once", "trusted"),
    scratchDirectory: join(place, "at-once", "scratch"),
  });
  const plans = Array.from({ length: 8 }, (_, index) =>
    own.plan({
      sessionId: `ses_atonce${index}x${process.pid}`,
      repository: index % 2 === 0 ? repository : beside,
      title: "at once",
    }),
  );
  const author = { name: "Grace", email: "grace@example.com" };
  const made = await Promise.all(
    plans.map(async (plan) => {
      const { adminDirectory } = await own.make(plan, ["/*", "!left-out"], signal);
      await own.setAuthor(plan.directory, author, signal);
      return { ...plan, adminDirectory };
    }),
  );
  for (const { directory, branch } of made) {
    assert.equal(git(directory, "branch", "--show-current"), branch);
    assert.equal(readFileSync(join(directory, "a.txt"), "utf8"), "one\n");
  }
  await Promise.all(
    made.map((each, index) => (index < 6 ? own.park(each.sessionId, each) : own.discard(each))),
  );
  assert.equal(git(repository, "branch", "--list", "hawser/*"), "");
  // Otherwise git now and then meets what another one is about to write, and fails.
  assert.equal(running.most, 1);
});

test("what is left out does not come back by what an agent does with git", async () => {
  const repository = makeRepository();
  mkdirSync(join(repository, "deep/.opencode"), { recursive: true });
  commit(repository, "deep/.opencode/plugin.js", "1");
  commit(repository, "opencode.json", "{}");
  const { directory, leftOut } = await makeWorktree(repository, [
    "/*",
    "!.opencode",
    "!opencode.json",
  ]);
  assert.deepEqual(leftOut.sort(), ["deep/.opencode/plugin.js", "opencode.json"]);
  const isClean = () =>
    !existsSync(join(directory, "opencode.json")) && !existsSync(join(directory, "deep"));
  assert.ok(isClean());
  commit(directory, "b.txt", "two");
  git(directory, "reset", "--quiet", "--hard", "HEAD~1");
  git(directory, "checkout", "--quiet", "--detach", "main");
  git(directory, "stash", "list");
  assert.ok(isClean());
  assert.equal(git(directory, "status", "--porcelain"), "");
  assert.ok(existsSync(join(repository, "opencode.json")), "the user's own is whole");
});

test("a repository without a commit has nothing to begin at, and what was begun can be discarded", async () => {
  const repository = join(place, "empty");
  mkdirSync(repository);
  git(repository, "init", "--quiet");
  const plan = worktrees.plan({ sessionId: "ses_empty0000", repository, title: null });
  await assert.rejects(worktrees.make(plan, [], signal), /has no commit to begin at/);
  await worktrees.discard(plan);
  const other = await makeWorktree(makeRepository());
  await worktrees.discard(other);
  assert.equal(existsSync(other.directory), false);
  assert.equal(git(other.repository, "branch", "--list", "hawser/*"), "");
  assert.equal(git(other.repository, "worktree", "list").split("\n").length, 1);
  await worktrees.discard(other);
});

test("discarding one leaves worktrees of the user's alone that cannot be seen now", async () => {
  const repository = makeRepository();
  const theirs = join(place, "theirs");
  git(repository, "worktree", "add", "--quiet", "--detach", theirs);
  writeFileSync(join(theirs, "staged.txt"), "staged\n");
  git(theirs, "add", "staged.txt");
  renameSync(theirs, `${theirs}-away`);
  const made = await makeWorktree(repository);
  await worktrees.discard(made);
  assert.equal(existsSync(made.adminDirectory), false);
  renameSync(`${theirs}-away`, theirs);
  assert.equal(git(theirs, "status", "--porcelain"), "A  staged.txt");
});

for (const without of [[], ["/*", "!left-out.json"]]) {
  const how = without.length > 0 ? "with files left out" : "whole";
  test(`worktrees of a bare repository still work beside a session's, ${how}`, async () => {
    const bare = join(place, `bare-${++count}`);
    git(place, "clone", "--quiet", "--bare", makeRepository(), bare);
    const theirs = `${bare}-theirs`;
    git(bare, "worktree", "add", "--quiet", theirs);
    const { directory } = await makeWorktree(theirs, without);
    const author = { name: "Grace", email: "grace@example.com" };
    const isSet = await worktrees.setAuthor(directory, author, signal);
    // Git itself sees to it when it leaves files out; before that nobody may ask for it.
    assert.equal(isSet, without.length > 0);
    for (const each of [theirs, directory]) assert.equal(git(each, "status", "--porcelain"), "");
    const named = git(directory, "config", "--default", "nobody", "user.name");
    assert.equal(named === "Grace", isSet);
    assert.notEqual(git(theirs, "config", "--default", "nobody", "user.name"), "Grace");
  });
}

test("what is put aside survives garbage collection, and can be put back as it was", async () => {
  const repository = makeRepository();
  const made = await makeWorktree(repository);
  const { directory, branch, sessionId, parked, adminDirectory } = made;
  // Commits, one of them only in the reflog; staged, changed, untracked and ignored files; a conflict.
  const dropped = commit(directory, "dropped.txt", "only the reflog knows");
  git(directory, "reset", "--quiet", "--hard", "HEAD~1");
  const tip = commit(directory, "a.txt", "mine\n");
  const other = git(directory, "commit-tree", "HEAD~1^{tree}", "-p", "HEAD~1", "-m", "other");
  git(repository, "branch", "other", other);
  git(repository, "worktree", "add", "--quiet", join(place, "elsewhere"), "other");
  commit(join(place, "elsewhere"), "a.txt", "theirs\n");
  assert.notEqual(spawnSync("git", ["-C", directory, "merge", "other"]).status, 0, "a conflict");
  git(repository, "worktree", "remove", join(place, "elsewhere"));
  git(repository, "branch", "--quiet", "-D", "other");
  writeFileSync(join(directory, ".gitignore"), "ignored.txt\n");
  writeFileSync(join(directory, "ignored.txt"), "ignored");
  writeFileSync(join(directory, "untracked.txt"), "untracked");
  writeFileSync(join(directory, "staged.txt"), "staged, then changed");
  git(directory, "add", "staged.txt");
  writeFileSync(join(directory, "staged.txt"), "changed");
  const status = git(directory, "status", "--porcelain", "--ignored");
  const stages = git(directory, "ls-files", "--stage");

  await worktrees.park(sessionId, made.kept);
  assert.equal(existsSync(directory), false);
  assert.equal(existsSync(adminDirectory), false);
  assert.equal(git(repository, "branch", "--list", "hawser/*"), "");
  assert.equal(git(repository, "rev-parse", `refs/hawser/parked/${sessionId}`), tip);
  assert.deepEqual(readdirSync(parked).sort(), ["admin", "parked.json", "tree"]);
  git(repository, "reflog", "expire", "--expire=now", "--all");
  git(repository, "gc", "--quiet", "--prune=now");
  assert.equal(git(repository, "cat-file", "-t", dropped), "commit");
  await worktrees.park(sessionId, made.kept);

  // The way back.
  const record = JSON.parse(readFileSync(join(parked, "parked.json"), "utf8")) as KeptWorktree;
  assert.deepEqual([record.branch, record.adminDirectory], [branch, adminDirectory]);
  mkdirSync(join(adminDirectory, ".."), { recursive: true });
  renameSync(join(parked, "admin"), adminDirectory);
  renameSync(join(parked, "tree"), directory);
  git(repository, "update-ref", `refs/heads/${branch}`, tip);
  assert.equal(git(directory, "status", "--porcelain", "--ignored"), status);
  assert.equal(git(directory, "ls-files", "--stage"), stages);
  assert.equal(readFileSync(join(directory, "staged.txt"), "utf8"), "changed");
  assert.equal(git(directory, "show", ":staged.txt"), "staged, then changed");
  for (const stage of [1, 2, 3]) git(directory, "show", `:${stage}:a.txt`);
  // The merge continues.
  git(directory, "add", ".");
  git(directory, "commit", "--quiet", "--message=merged");
  assert.equal(
    git(directory, "rev-list", "--parents", "--max-count=1", "HEAD").split(" ").length,
    3,
  );
  git(directory, "fsck", "--no-dangling");
});

test("an agent cannot have anything else put aside", async () => {
  const repository = makeRepository();
  const made = await makeWorktree(repository);
  const victim = join(place, "victim");
  mkdirSync(victim);
  writeFileSync(join(victim, "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(made.directory, ".git"), `gitdir: ${victim}\n`);
  rmSync(made.adminDirectory, { recursive: true });
  symlinkSync(victim, made.adminDirectory);
  await worktrees.park(made.sessionId, made.kept);
  assert.ok(existsSync(join(victim, "HEAD")));
  assert.equal(existsSync(made.directory), false);
});

test("what was removed by hand is no reason not to put the rest aside", async () => {
  const first = await makeWorktree(makeRepository());
  rmSync(first.directory, { recursive: true });
  await worktrees.park(first.sessionId, first.kept);
  assert.equal(git(first.repository, "branch", "--list", "hawser/*"), "");
  assert.equal(git(first.repository, "worktree", "list").split("\n").length, 1);
  const bare = await makeWorktree(makeRepository());
  const tip = commit(bare.directory, "made.txt", "made\n");
  git(bare.repository, "worktree", "remove", "--force", bare.directory);
  await worktrees.park(bare.sessionId, bare.kept);
  assert.equal(git(bare.repository, "branch", "--list", "hawser/*"), "");
  assert.match(git(bare.repository, "for-each-ref", "refs/hawser"), new RegExp(`^${tip} `));
  const second = await makeWorktree(makeRepository());
  rmSync(second.repository, { recursive: true });
  await worktrees.park(second.sessionId, second.kept);
  assert.ok(existsSync(join(second.parked, "tree/a.txt")));
  await worktrees.park("ses_never000", null);
});

test("the worktree of a path is found", async () => {
  const { directory, sessionId } = await makeWorktree(makeRepository());
  assert.deepEqual(worktrees.placeOf(join(directory, "sub")), { directory, isParked: false });
  const parked = join(place, "parked", sessionId);
  assert.deepEqual(worktrees.placeOf(join(parked, "tree")), { directory: parked, isParked: true });
  assert.equal(worktrees.placeOf(`${place}/worktrees-old/x`), undefined);
});
