// Counts commits, unpushed commits and uncommitted files with real git.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createRepository, git, write } from "@hawser/testkit/generated-trees.ts";
import { createGit } from "../git/git.ts";
import { branchOf, readCommitState, type WantedState } from "./commits.ts";

const top = mkdtempSync(join(tmpdir(), "hawser-commits-"));
after(() => rmSync(top, { recursive: true, force: true }));
const signal = AbortSignal.timeout(60_000);
const own = createGit();

function commit(directory: string, name: string): string {
  write(directory, name, `${name}\n`);
  git(directory, "add", ".");
  git(directory, "commit", "--quiet", `--message=${name}`);
  return git(directory, "rev-parse", "HEAD");
}

test("commits are counted from the base, without those that are pushed", async () => {
  const repository = createRepository(join(top, "project"));
  const baseCommit = git(repository, "rev-parse", "HEAD");
  const baseBranch = await branchOf(own, repository, signal);
  assert.equal(baseBranch, git(repository, "branch", "--show-current"));
  const directory = join(top, "tree");
  git(repository, "worktree", "add", "--quiet", "-b", "work", directory);
  const wanted: WantedState = { directory, baseCommit, baseBranch, pushedCommit: null, signal };
  const read = (more: Partial<WantedState> = {}) => readCommitState(own, { ...wanted, ...more });
  const nothing = { commits: 0, unpushedCommits: 0, uncommittedFiles: 0, behind: 0 };
  assert.deepEqual(await read(), nothing);

  const first = commit(directory, "first.txt");
  commit(directory, "second.txt");
  write(directory, "untracked.txt", "1");
  write(directory, "first.txt", "changed");
  commit(repository, "theirs.txt");
  const two = { commits: 2, unpushedCommits: 2, uncommittedFiles: 2, behind: 1 };
  assert.deepEqual(await read(), two);
  assert.deepEqual(await read({ pushedCommit: first }), { ...two, unpushedCommits: 1 });
  const gone = "0123456789012345678901234567890123456789";
  assert.deepEqual(await read({ pushedCommit: gone }), two, "a pushed commit that is gone");
  assert.deepEqual(await read({ baseBranch: "removed" }), { ...two, behind: null });
  await assert.rejects(read({ baseCommit: gone }), { reason: "failed" });

  // What the agent has pushed itself.
  const far = join(top, "far.git");
  git(repository, "init", "--quiet", "--bare", far);
  git(directory, "remote", "add", "origin", far);
  git(directory, "push", "--quiet", "origin", "work");
  assert.deepEqual(await read(), { ...two, unpushedCommits: 0 });
  git(directory, "checkout", "--quiet", "--detach");
  assert.equal(await branchOf(own, directory, signal), null);
});

test("a repository without a commit has only uncommitted files", async () => {
  const directory = join(top, "empty");
  mkdirSync(directory);
  git(directory, "init", "--quiet");
  write(directory, "a.txt", "1");
  const none = { baseCommit: null, baseBranch: null, pushedCommit: null };
  assert.deepEqual(await readCommitState(own, { directory, ...none, signal }), {
    commits: 0,
    unpushedCommits: 0,
    uncommittedFiles: 1,
    behind: null,
  });
});
