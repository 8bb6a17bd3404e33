// Baselines of directories without a commit, with real git: what a diff then shows, what is never copied,
// and that the user's directory stays as it is.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { changedLines } from "@hawser/testkit/changed-lines.ts";
import { createGit, type GitError } from "../git/git.ts";
import { createBaselines } from "./baselines.ts";
import { createDiffs } from "./diffs.ts";
import { filesOf, git, write } from "@hawser/testkit/generated-trees.ts";

const top = realpathSync(mkdtempSync(join(tmpdir(), "hawser-baselines-")));
after(() => rmSync(top, { recursive: true, force: true }));
for (const name of ["scratch", "baselines"]) mkdirSync(join(top, name));
const home = join(top, "home");
const closed = [join(home, ".ssh"), join(top, "baselines")];
const signal = AbortSignal.timeout(60_000);

/** A git of the host's user, whose own settings name a filter. */
const environment = { ...process.env, HOME: home };
write(home, ".gitconfig", `[filter "up"]\n\tclean = "touch '${join(top, "ran")}'; tr a-z A-Z"\n`);
const ours = createGit(environment);
const baselines = createBaselines(ours, join(top, "baselines"), closed);
const diffs = createDiffs(ours, join(top, "scratch"), closed);

let made = 0;
async function begin(directory: string) {
  const sessionId = `ses_${++made}`;
  const base = await baselines.make(sessionId, directory, signal);
  return { directory, base, baseline: baselines.gitDirectoryOf(sessionId), signal };
}

test("a diff of a plain directory shows what changed since the session began", async () => {
  const directory = join(top, "plain");
  write(directory, "same.txt", "same\n");
  write(directory, "edited.txt", "one\ntwo\n");
  write(directory, "removed.txt", "1\n2\n3\n");
  write(directory, "script.sh", "true\n");
  write(directory, "crlf.txt", "a\r\nb\r\n");
  write(directory, "caps.txt", "small\n");
  write(directory, ".gitattributes", "caps.txt filter=up\ncrlf.txt text\n");
  write(directory, ".gitignore", "*.log\n");
  write(directory, "noise.log", "ignored\n");
  write(directory, "nested/file.txt", "another repository's\n");
  git(join(directory, "nested"), "init", "--quiet");
  const before = filesOf(directory);
  const compared = await begin(directory);
  assert.deepEqual((await diffs.list(compared)).files, []);
  assert.deepEqual(filesOf(directory), before);

  write(directory, "edited.txt", "one\n2\n");
  write(directory, "new/deep.txt", "x\ny\n");
  write(directory, "noise.log", "still ignored\n");
  write(directory, "nested/file.txt", "left alone\n");
  write(directory, "caps.txt", "smaller\n");
  write(directory, "crlf.txt", "a\r\nc\r\n");
  chmodSync(join(directory, "script.sh"), 0o755);
  rmSync(join(directory, "removed.txt"));
  const expected = [
    { path: "caps.txt", added: 1, removed: 1 },
    { path: "crlf.txt", added: 1, removed: 1 },
    { path: "edited.txt", added: 1, removed: 1 },
    { path: "new/deep.txt", added: 2, removed: 0 },
    { path: "removed.txt", added: 0, removed: 3 },
    { path: "script.sh", added: 0, removed: 0 },
  ];
  assert.deepEqual(changedLines((await diffs.list(compared)).files), expected);
  assert.match((await diffs.patch(compared, "caps.txt"))!, /^-small\n\+smaller$/m);
  assert.match((await diffs.patch(compared, "removed.txt"))!, /^-1\n-2\n-3$/m);
  assert.equal(await diffs.patch(compared, "same.txt"), undefined);
  assert.equal(existsSync(join(top, "ran")), false, "no filter of the user's runs");

  // A repository that the agent makes there later changes nothing.
  git(directory, "init", "--quiet");
  git(directory, "add", "edited.txt");
  assert.deepEqual(changedLines((await diffs.list(compared)).files), expected);
});

test("the user's keys and the daemon's own files are in no baseline and in no diff", async () => {
  write(home, "notes.txt", "one\n");
  write(home, ".ssh/id_test", "a key\n");
  const compared = await begin(home);
  write(home, "notes.txt", "two\n");
  write(home, ".ssh/id_test", "another key\n");
  write(home, ".ssh/id_new", "a new key\n");
  assert.deepEqual(changedLines((await diffs.list(compared)).files), [
    { path: "notes.txt", added: 1, removed: 1 },
  ]);
  for (const path of [".ssh/id_test", ".ssh/id_new"]) {
    assert.equal(await diffs.patch(compared, path), undefined);
  }
  const stored = git(home, `--git-dir=${compared.baseline}`, "ls-tree", "-r", compared.base);
  assert.doesNotMatch(stored, /\.ssh/);
});

test("an untracked key in a user's repository is in no diff", async () => {
  git(home, "init", "--quiet");
  git(home, "add", "notes.txt");
  git(home, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=one");
  const base = git(home, "rev-parse", "HEAD");
  const { files } = await diffs.list({ directory: home, base, signal });
  assert.deepEqual(
    files.map(({ path }) => path),
    [".gitconfig"],
  );
  assert.equal(await diffs.patch({ directory: home, base, signal }, ".ssh/id_test"), undefined);
});

test("a directory that is too large gets no baseline, and nothing is left of it", async () => {
  const many = join(top, "many");
  for (let i = 0; i <= 5_000; i++) write(many, `${i % 100}/${i}.txt`, "");
  const large = join(top, "large");
  write(large, "large.bin", Buffer.alloc(65 * 1024 * 1024));
  for (const [directory, words] of [
    [many, /^5001 files are too many .* limit is 5000\.$/],
    [large, /^Files of 65 MiB are too much .* limit is 64 MiB\.$/],
  ] as const) {
    const sessionId = `ses_${++made}`;
    await assert.rejects(baselines.make(sessionId, directory, signal), ({ message }: GitError) =>
      words.test(message),
    );
    assert.equal(existsSync(baselines.gitDirectoryOf(sessionId)), false);
  }
});

test("baselines of sessions that are over are removed", async () => {
  const directory = join(top, "short");
  write(directory, "a.txt", "a\n");
  const [one, two] = [await begin(directory), await begin(directory)];
  await baselines.tidy((sessionId) => two.baseline.endsWith(sessionId));
  assert.deepEqual([existsSync(one.baseline), existsSync(two.baseline)], [false, true]);
});

test("a baseline that its caller stops does not name the time limit for copies", async () => {
  const directory = join(top, "stopped");
  write(directory, "file.txt", "text\n");
  await assert.rejects(
    baselines.make("ses_stopped", directory, AbortSignal.abort()),
    ({ message, reason }: GitError) => reason === "out_of_time" && !message.includes("seconds"),
  );
  assert.ok(!existsSync(baselines.gitDirectoryOf("ses_stopped")));
});
