// What has changed since a commit, with real git, and that looking at it leaves nothing behind.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createGit } from "../git/git.ts";
import { createDiffs } from "./diffs.ts";
import { createRepository, filesOf, git, write } from "@hawser/testkit/generated-trees.ts";

const top = realpathSync(mkdtempSync(join(tmpdir(), "hawser-diffs-")));
after(() => rmSync(top, { recursive: true, force: true }));
mkdirSync(join(top, "scratch"));
const diffs = createDiffs(createGit(), join(top, "scratch"));
const signal = AbortSignal.timeout(60_000);

test("commits, staged, changed and untracked files count, ignored ones do not", async () => {
  const directory = createRepository(join(top, "project"));
  write(directory, "moved.txt", "1\n2\n3\n");
  git(directory, "add", ".");
  git(directory, "commit", "--quiet", "--message=more");
  const base = git(directory, "rev-parse", "HEAD");
  write(directory, "done.txt", "committed\n");
  git(directory, "add", ".");
  git(directory, "commit", "--quiet", "--message=work");
  git(directory, "mv", "moved.txt", "elsewhere.txt");
  write(directory, "a.txt", "one\nmore\n");
  write(directory, "picture.bin", Buffer.from([0, 1, 2, 0]));
  write(directory, "new/ünï\tcode.txt", "x\ny\n");
  write(directory, "secret.log", "ignored\n");
  write(directory, "nested/repo/file.txt", "not ours\n");
  git(join(directory, "nested/repo"), "init", "--quiet");
  rmSync(join(directory, "src/b.txt"));
  symlinkSync("a.txt", join(directory, "link"));
  const before = [filesOf(join(directory, ".git")), git(directory, "status", "--porcelain")];
  const { files, truncated } = await diffs.list({ directory, base, signal });
  assert.equal(truncated, false);
  const change = { status: "modified", previousPath: null, isBinary: false };
  assert.deepEqual(files, [
    { path: "a.txt", added: 1, removed: 0, ...change },
    { path: "done.txt", added: 1, removed: 0, ...change, status: "added" },
    {
      path: "elsewhere.txt",
      added: 0,
      removed: 0,
      ...change,
      status: "renamed",
      previousPath: "moved.txt",
    },
    { path: "link", added: 1, removed: 0, ...change, status: "added" },
    { path: "new/ünï\tcode.txt", added: 2, removed: 0, ...change, status: "added" },
    { path: "picture.bin", added: 0, removed: 0, ...change, status: "added", isBinary: true },
    { path: "src/b.txt", added: 0, removed: 1, ...change, status: "deleted" },
  ]);
  const patch = (path: string) => diffs.patch({ directory, base, signal }, path);
  assert.match((await patch("a.txt"))!, /^@@ .*\n one\n\+more\n$/m);
  assert.match((await patch("new/ünï\tcode.txt"))!, /\+x\n\+y\n$/);
  assert.match(
    (await patch("elsewhere.txt"))!,
    /^rename from moved.txt\nrename to elsewhere.txt$/m,
  );
  assert.match((await patch("moved.txt"))!, /^deleted file mode/m);
  assert.match((await patch("src/b.txt"))!, /^deleted file mode/m);
  assert.match((await patch("picture.bin"))!, /^Binary files .* differ$/m);
  for (const path of [
    "secret.log",
    "src",
    "new",
    "*.txt",
    ":/a.txt",
    "../x",
    "nothing",
    "--cached",
  ])
    assert.equal(await patch(path).catch(() => undefined), undefined, path);
  assert.deepEqual(
    [filesOf(join(directory, ".git")), git(directory, "status", "--porcelain")],
    before,
    "neither the index nor the objects of the user have changed",
  );
  assert.deepEqual(filesOf(join(top, "scratch")), {});
});

test("a list that is too long is cut, and says so", async () => {
  const directory = createRepository(join(top, "long"));
  const base = git(directory, "rev-parse", "HEAD");
  for (let each = 0; each < 4_000; each++)
    write(directory, `${"long-name-".repeat(10)}/${"x".repeat(60)}-${each}`, "");
  const { files, truncated } = await diffs.list({ directory, base, signal });
  assert.equal(truncated, true);
  assert.ok(files.length > 1_000 && Buffer.byteLength(JSON.stringify(files)) <= 512 * 1024);
});
