// Whatever an agent leaves in a worktree or a clone, putting it aside and back loses nothing, also when
// the main repository was cleaned in between. And what is kept does not grow for ever.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import type { AgentPolicy } from "@hawser/contract";
import { makeSmallDisk } from "@hawser/testkit/small-disk.ts";
import { GitError, createGit, type Git } from "../git/git.ts";
import {
  createRepository,
  disturb,
  filesOf,
  git,
  knownOf,
  write,
} from "@hawser/testkit/generated-trees.ts";
import { CannotRestore, parkedForMs } from "./parked.ts";
import type { ParkedSession } from "./parked-record.ts";
import { moveAdmin, type KeptWorktree } from "./park.ts";
import { createWorktrees, type Worktrees, type WorktreesOptions } from "./worktrees.ts";

const isLong = process.env["HAWSER_LONG"] === "1";
const top = realpathSync(mkdtempSync(join(tmpdir(), "hawser-parking-")));
after(() => rmSync(top, { recursive: true, force: true }));
const signal = AbortSignal.timeout(600_000);
const policy: AgentPolicy = { allowedCommands: [], outsideWorktree: "ask" };
const session: ParkedSession = {
  kind: "opencode",
  title: "left",
  startedIn: "/srv/project",
  model: null,
  options: {},
  policy,
  baseCommit: null,
};

const submodule = createRepository(join(top, "part"));
let made = 0;

interface Bed {
  worktrees: Worktrees;
  places: Omit<WorktreesOptions, "git">;
  repository: string;
  sessionId: string;
  directory: string;
  branch: string;
  kept: KeptWorktree;
  park(now?: number): Promise<void>;
  /** As the owner of the repository may at any time. */
  collect(): void;
}

async function makeBed(place = top, name = `bed-${++made}`): Promise<Bed> {
  const places = {
    directory: join(place, name, "worktrees"),
    parkedDirectory: join(place, name, "parked"),
    baselinesDirectory: join(place, name, "baselines"),
    trustedDirectory: join(place, name, "trusted"),
    scratchDirectory: join(place, name, "scratch"),
  };
  const worktrees = createWorktrees({ git: createGit(), ...places });
  const repository = createRepository(join(place, name, "project"));
  return { worktrees, places, repository, ...(await makeSession(worktrees, repository)) };
}

async function makeSession(worktrees: Worktrees, repository: string) {
  const sessionId = `ses_parked${String(++made).padStart(6, "0")}`;
  const plan = worktrees.plan({ sessionId, repository, title: "park me" });
  const { adminDirectory } = await worktrees.make(plan, [], signal);
  const { directory, branch } = plan;
  const kept: KeptWorktree = { repository, branch, adminDirectory };
  return {
    sessionId,
    directory,
    branch,
    kept,
    park: (now = Date.now()) => worktrees.park(sessionId, kept, { session, directory, now }),
    collect() {
      git(repository, "reflog", "expire", "--expire=now", "--all");
      git(repository, "gc", "--quiet", "--prune=now");
    },
  };
}

const seeds = Array.from({ length: isLong ? 50 : 6 }, (_, index) => index + 1);

for (const seed of seeds) {
  test(`tree ${seed} comes back byte for byte after a garbage collection`, async () => {
    const bed = await makeBed();
    const done = disturb(bed.directory, seed, submodule);
    const before = { files: filesOf(bed.directory), known: knownOf(bed.directory) };
    await bed.park();
    assert.equal(existsSync(bed.directory), false);
    assert.ok(!git(bed.repository, "branch", "--list").includes(bed.branch));
    assert.equal(git(bed.repository, "worktree", "list").split("\n").length, 1);
    bed.collect();
    const record = await bed.worktrees.parked.restore(bed.sessionId);
    assert.deepEqual(filesOf(bed.directory), before.files, done.join(" "));
    assert.deepEqual(knownOf(bed.directory), before.known, done.join(" "));
    await bed.worktrees.parked.settle(bed.sessionId, record, "ses_heir000001");
    assert.deepEqual(await bed.worktrees.parked.list(), []);
    assert.equal(git(bed.repository, "for-each-ref", "refs/hawser"), "");
    git(bed.directory, "fsck", "--no-dangling", "--no-reflogs");
    assert.deepEqual(knownOf(bed.directory), before.known, "and its refs were not the only hold");
  });
}

/** A session's own clone, as it lies on the host. */
function makeClone({ repository }: Bed, worktrees: Worktrees) {
  const sessionId = `ses_cloned${String(++made).padStart(6, "0")}`;
  const place = join(dirname(repository), "checkouts", sessionId);
  const directory = join(place, "my copy");
  mkdirSync(place, { recursive: true });
  git(place, "clone", "--quiet", "--no-hardlinks", repository, directory);
  git(directory, "config", "user.name", "Ada");
  git(directory, "config", "user.email", "ada@example.com");
  const checkout = { directory, repo: null, url: "https://h.example/x.git", viaClient: false };
  const about = { session: { ...session, checkout }, directory: place };
  return {
    sessionId,
    place,
    directory,
    park: (now = Date.now()) => worktrees.park(sessionId, null, { ...about, now }),
  };
}

for (const seed of seeds) {
  test(`tree ${seed} comes back byte for byte as a clone, without where it came from`, async () => {
    const bed = await makeBed();
    const { parked } = bed.worktrees;
    const clone = makeClone(bed, bed.worktrees);
    const done = disturb(clone.directory, seed, submodule);
    const now = () => ({
      files: filesOf(clone.directory),
      known: knownOf(clone.directory),
      stashes: git(clone.directory, "stash", "list", "--format=%H %gs"),
    });
    const before = now();
    await clone.park();
    assert.equal(existsSync(clone.place), false);
    rmSync(bed.repository, { recursive: true });
    const [listed] = await parked.list();
    assert.equal(listed!.sessionId, clone.sessionId);
    const record = await parked.restore(clone.sessionId);
    assert.deepEqual(now(), before, done.join(" "));
    git(clone.directory, "fsck", "--no-dangling", "--no-reflogs");
    await parked.settle(clone.sessionId, record, "ses_heir000001");
    assert.deepEqual(await parked.list(), []);
    assert.deepEqual(now(), before);
  });
}

test("an occupied place of a clone is reported, and an interrupted restore is undone", async () => {
  const bed = await makeBed();
  const { worktrees } = bed;
  const { parked } = worktrees;
  const clone = makeClone(bed, worktrees);
  write(clone.directory, "kept.txt", "kept\n");
  const before = filesOf(clone.directory);
  const refused = (reason: string) => (error: unknown) =>
    error instanceof CannotRestore && error.reason === reason;
  await clone.park();
  await clone.park();
  mkdirSync(clone.place);
  await assert.rejects(parked.restore(clone.sessionId), refused("taken"));
  rmSync(clone.place, { recursive: true });
  // Cut before it was moved, and after.
  await worktrees.unrestore(clone.sessionId);
  const record = await parked.restore(clone.sessionId);
  assert.deepEqual(await parked.list(), [], "what is left of it is not offered");
  await worktrees.unrestore(clone.sessionId);
  assert.equal(existsSync(clone.place), false);
  await assert.rejects(parked.settle(clone.sessionId, record, "ses_heir000001"));
  const [listed] = await parked.list();
  assert.deepEqual(listed!.record, record);
  await parked.restore(clone.sessionId);
  assert.deepEqual(filesOf(clone.directory), before);

  const gone = makeClone(bed, worktrees);
  rmSync(gone.directory, { recursive: true });
  symlinkSync(clone.directory, gone.directory);
  await gone.park();
  await assert.rejects(parked.restore(gone.sessionId), refused("gone"), "a link is no clone");
  assert.ok(existsSync(join(clone.directory, "kept.txt")));
});

test("a place, a branch or a repository that is not free is reported, and nothing is moved", async () => {
  const bed = await makeBed();
  write(bed.directory, "kept.txt", "kept\n");
  await bed.park();
  const { parked } = bed.worktrees;
  const refused = (reason: string) => (error: unknown) =>
    error instanceof CannotRestore && error.reason === reason;
  mkdirSync(bed.directory);
  await assert.rejects(parked.restore(bed.sessionId), refused("taken"));
  rmSync(bed.directory, { recursive: true });
  git(bed.repository, "branch", bed.branch);
  await assert.rejects(parked.restore(bed.sessionId), refused("taken"));
  git(bed.repository, "branch", "--quiet", "-D", bed.branch);
  await assert.rejects(parked.restore("ses_unknown0"), refused("gone"));
  await assert.rejects(parked.restore("../../etc"), refused("gone"));
  execFileSync("mv", [bed.repository, `${bed.repository}-away`]);
  await assert.rejects(parked.restore(bed.sessionId), refused("no_repository"));
  execFileSync("mv", [`${bed.repository}-away`, bed.repository]);
  await parked.restore(bed.sessionId);
  assert.ok(existsSync(join(bed.directory, "kept.txt")));
});

test("an interrupted restore is undone, wherever it was", async () => {
  const bed = await makeBed();
  write(bed.directory, "kept.txt", "kept\n");
  const before = filesOf(bed.directory);
  await bed.park();
  await bed.worktrees.unrestore(bed.sessionId);
  await bed.worktrees.parked.restore(bed.sessionId);
  await bed.worktrees.unrestore(bed.sessionId);
  assert.equal(existsSync(bed.directory), false);
  assert.equal(git(bed.repository, "branch", "--list", "hawser/*"), "");
  bed.collect();
  await bed.worktrees.parked.restore(bed.sessionId);
  assert.deepEqual(filesOf(bed.directory), before);
});

test("a branch of that name that the user made meanwhile does not count as the session's", async () => {
  const bed = await makeBed();
  await bed.park();
  git(bed.repository, "commit", "--quiet", "--allow-empty", "--message=theirs");
  git(bed.repository, "branch", bed.branch);
  // As a daemon leaves it that was killed before it read the branch.
  await bed.worktrees.unrestore(bed.sessionId);
  assert.equal(git(bed.repository, "branch", "--list", bed.branch).trim(), bed.branch);
});

test("a look at the branch that fails loses nothing: it is put aside the next time", async () => {
  const bed = await makeBed();
  write(bed.directory, "made.txt", "made\n");
  git(bed.directory, "add", "made.txt");
  git(bed.directory, "commit", "--quiet", "--message=made");
  const tip = git(bed.directory, "rev-parse", "HEAD");
  const real = createGit();
  const late: Git = {
    ...real,
    runIn: (directory, command, call) =>
      command === "rev-parse"
        ? Promise.reject(new GitError("out_of_time", "Git did not finish in time."))
        : real.runIn(directory, command, call),
  };
  const failing = createWorktrees({ ...bed.places, git: late });
  await assert.rejects(failing.park(bed.sessionId, bed.kept), /in time/);
  assert.equal(git(bed.directory, "rev-parse", "HEAD"), tip);
  await bed.park();
  bed.collect();
  await bed.worktrees.parked.restore(bed.sessionId);
  assert.equal(git(bed.repository, "rev-parse", bed.branch), tip);
});

test("what git keeps about a tree is whole under either name, also on another disk", () => {
  const from = join(top, "admin-here");
  const elsewhere = mkdtempSync("/dev/shm/hawser-admin-");
  after(() => rmSync(elsewhere, { recursive: true, force: true }));
  const to = join(elsewhere, "admin");
  write(from, "HEAD", "ref: refs/heads/x\n");
  write(from, "logs/HEAD", "log\n");
  const before = filesOf(from);
  moveAdmin(from, to);
  assert.deepEqual([existsSync(from), filesOf(to)], [false, before]);
  assert.deepEqual(readdirSync(elsewhere), ["admin"]);
  // Interrupted while the old directory was removed, under its other name.
  write(`${to}.moved`, "HEAD", "half");
  moveAdmin(to, from);
  assert.deepEqual([filesOf(from), readdirSync(elsewhere)], [before, []]);
  // Interrupted after the copy was complete.
  write(to, "HEAD", "ref: refs/heads/x\n");
  moveAdmin(to, from);
  assert.deepEqual([filesOf(from), readdirSync(elsewhere)], [before, []]);
});

test("one that cannot be dropped keeps no other, and takes no room", async () => {
  const bed = await makeBed();
  const { worktrees } = bed;
  const now = Date.now();
  const other = await makeSession(worktrees, createRepository(join(top, `bed-${++made}`)));
  write(bed.directory, "large.bin", Buffer.alloc(1024 * 1024, 1));
  await bed.park(now - parkedForMs - 2);
  await other.park(now - parkedForMs - 1);
  git(bed.repository, "config", "include.path", "/nowhere");
  const first = await worktrees.parked.clean({ now, limitBytes: Infinity });
  assert.deepEqual([first.dropped, [...first.failed.keys()]], [[other.sessionId], [bed.sessionId]]);
  const left = join(bed.places.parkedDirectory, `.dropping-${bed.sessionId}`);
  assert.deepEqual(readdirSync(left), ["parked.json"]);
  git(bed.repository, "config", "--unset", "include.path");
  const second = await worktrees.parked.clean({ now, limitBytes: Infinity });
  assert.deepEqual([second.dropped, second.failed.size], [[bed.sessionId], 0]);
  assert.equal(git(bed.repository, "for-each-ref", "refs/hawser"), "");
});

test("what was kept long enough goes, then the oldest until the rest fits, with their refs", async () => {
  const bed = await makeBed();
  const { worktrees, repository } = bed;
  const now = Date.now();
  const others = [];
  for (let each = 0; each < 3; each++) {
    others.push(each === 0 ? makeClone(bed, worktrees) : await makeSession(worktrees, repository));
  }
  for (const [age, one] of [bed, ...others].entries()) {
    write(one.directory, "large.bin", Buffer.alloc(1024 * 1024, age + 1));
    // The first is the oldest, and older than it may be.
    await one.park(age === 0 ? now - parkedForMs - 1 : now - 10_000 + age);
  }
  const listed = await worktrees.parked.list();
  assert.deepEqual(
    listed.map(({ sessionId }) => sessionId),
    [others[2], others[1], others[0], bed].map((one) => one!.sessionId),
  );
  for (const { sizeBytes } of listed) assert.ok(sizeBytes >= 1024 * 1024 && sizeBytes < 3e6);
  assert.deepEqual((await worktrees.parked.clean({ now, limitBytes: Infinity })).dropped, [
    bed.sessionId,
  ]);
  const limitBytes = listed[0]!.sizeBytes + listed[1]!.sizeBytes;
  assert.deepEqual((await worktrees.parked.clean({ now, limitBytes })).dropped, [
    others[0]!.sessionId,
  ]);
  assert.deepEqual((await worktrees.parked.clean({ now, limitBytes })).dropped, []);
  const refs = git(repository, "for-each-ref", "--format=%(refname)", "refs/hawser");
  for (const gone of [bed, others[0]!]) assert.ok(!refs.includes(gone.sessionId));
  for (const there of others.slice(1)) assert.ok(refs.includes(there.sessionId));
  await worktrees.parked.restore(others[1]!.sessionId);
});

test("on a full disk nothing is moved, and it is put aside once there is room (F8)", async (t) => {
  const disk = makeSmallDisk(24);
  if (typeof disk === "string") return t.skip(disk);
  using small = disk;
  const bed = await makeBed(small.directory);
  write(bed.directory, "staged.txt", "staged\n");
  git(bed.directory, "add", ".");
  const clone = makeClone(bed, bed.worktrees);
  write(clone.directory, "left.txt", "left\n");
  const cloned = [filesOf(clone.directory), knownOf(clone.directory)];
  const before = { files: filesOf(bed.directory), known: knownOf(bed.directory) };
  small.fill();
  await assert.rejects(clone.park());
  assert.deepEqual([filesOf(clone.directory), knownOf(clone.directory)], cloned);
  await assert.rejects(bed.park());
  assert.deepEqual(filesOf(bed.directory), before.files);
  assert.equal(git(bed.directory, "--no-optional-locks", "status", "--porcelain"), "A  staged.txt");
  small.empty();
  await bed.park();
  await bed.worktrees.parked.restore(bed.sessionId);
  assert.deepEqual(filesOf(bed.directory), before.files);
  assert.deepEqual(knownOf(bed.directory).stages, before.known.stages);
  await clone.park();
  await bed.worktrees.parked.restore(clone.sessionId);
  assert.deepEqual([filesOf(clone.directory), knownOf(clone.directory)], cloned);
});

test("putting aside takes no longer for a large tree", { skip: !isLong }, async () => {
  const bed = await makeBed();
  for (let each = 0; each < 100_000; each++) {
    const folder = join(bed.directory, `many/${each % 500}`);
    if (each < 500) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${each}.txt`), `${each}\n`);
  }
  const sparse = openSync(join(bed.directory, "sparse.bin"), "w");
  ftruncateSync(sparse, 5 * 2 ** 30);
  closeSync(sparse);
  const began = performance.now();
  await bed.park();
  const parkMs = performance.now() - began;
  const [listed] = await bed.worktrees.parked.list();
  assert.ok(listed!.sizeBytes < 2 ** 30, "holes take no room");
  const back = performance.now();
  await bed.worktrees.parked.restore(bed.sessionId);
  console.log(
    `100,000 files and 5 GiB: parked in ${Math.round(parkMs)} ms, restored in ${Math.round(performance.now() - back)} ms`,
  );
  assert.ok(parkMs < 5_000);
  assert.ok(existsSync(join(bed.directory, "many/499/99999.txt")));
});
