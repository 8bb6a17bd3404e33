// Worktrees in states that agents leave, generated from a seed: for tests that park and restore them. The
// same seed generates the same tree.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

export function git(directory: string, ...args: string[]): string {
  const settings = ["-c", "protocol.file.allow=always", "-c", "advice.detachedHead=false"];
  return execFileSync("git", [...settings, "-C", directory, ...args], {
    encoding: "utf8",
    maxBuffer: 1e9,
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}

export interface Random {
  below(limit: number): number;
  chance(): boolean;
  bytes(length: number): Buffer;
}

/** mulberry32: the same seed gives the same numbers on every machine. */
export function openRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    below: (limit) => Math.floor(next() * limit),
    chance: () => next() < 0.5,
    bytes: (length) => Buffer.from(Array.from({ length }, () => Math.floor(next() * 256))),
  };
}

export function createRepository(directory: string): string {
  mkdirSync(directory, { recursive: true });
  git(directory, "init", "--quiet", "--initial-branch=main");
  git(directory, "config", "user.name", "Ada");
  git(directory, "config", "user.email", "ada@example.com");
  write(directory, "a.txt", "one\n");
  write(directory, "src/b.txt", "two\n");
  write(directory, ".gitignore", "ignored/\n*.log\n");
  git(directory, "add", ".");
  git(directory, "commit", "--quiet", "--message=first");
  return directory;
}

export function write(directory: string, path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), content);
}

function commit(directory: string, path: string, content: string): void {
  write(directory, path, content);
  git(directory, "add", "--", path);
  git(directory, "commit", "--quiet", `--message=${path}`);
}

type Change = (tree: string, random: Random, more: { submodule: string }) => void;

/** Changes that a careless way of parking a worktree would lose. */
const changes: Record<string, Change> = {
  staged(tree, random) {
    write(tree, `staged-${random.below(9)}.txt`, random.bytes(40).toString("hex"));
    git(tree, "add", ".");
  },
  stagedThenChanged(tree, random) {
    write(tree, "twice.txt", random.bytes(20).toString("hex"));
    git(tree, "add", "twice.txt");
    write(tree, "twice.txt", "changed after\n");
  },
  unstaged: (tree, random) => write(tree, "a.txt", `changed ${random.below(1000)}\n`),
  removed(tree, random) {
    if (random.chance()) git(tree, "rm", "--quiet", "--force", "--ignore-unmatch", "src/b.txt");
    else rmSync(join(tree, "src/b.txt"), { force: true });
  },
  untracked: (tree, random) =>
    write(tree, `new ${random.below(99)}/ünï\ncode "x".txt`, random.bytes(random.below(200))),
  ignored(tree, random) {
    write(tree, "ignored/deep/cache.bin", random.bytes(64));
    write(tree, "build.log", "log\n");
  },
  binary: (tree, random) => write(tree, "picture.bin", random.bytes(4096)),
  symlinks(tree) {
    for (const [name, target] of [
      ["link", "a.txt"],
      ["dangling", "nowhere/at/all"],
      ["outside", "/etc/hostname"],
    ] as const) {
      rmSync(join(tree, name), { force: true });
      symlinkSync(target, join(tree, name));
    }
  },
  executable(tree) {
    write(tree, "run.sh", "#!/bin/sh\n");
    chmodSync(join(tree, "run.sh"), 0o755);
  },
  commits(tree, random) {
    for (let count = 1 + random.below(3); count > 0; count--)
      commit(tree, `done-${count}.txt`, `work ${random.below(1e6)}\n`);
  },
  droppedCommit(tree) {
    commit(tree, "dropped.txt", "only the reflog knows\n");
    git(tree, "reset", "--quiet", "--hard", "HEAD~1");
  },
  stash(tree) {
    write(tree, "stashed.txt", "put away\n");
    git(tree, "stash", "push", "--quiet", "--include-untracked");
  },
  many(tree, random) {
    const count = 200 + random.below(300);
    for (let each = 0; each < count; each++)
      write(tree, `many/${each % 16}/${each}.txt`, `${each}\n`);
  },
  submodule(tree, _random, { submodule }) {
    git(tree, "submodule", "--quiet", "add", submodule, "parts/sub");
    write(tree, "parts/sub/changed.txt", "within the submodule\n");
  },
  ownRefs(tree) {
    git(tree, "update-ref", "refs/worktree/mine", "HEAD");
    git(tree, "tag", "--force", "made-here");
  },
};

/** At most one of these is applied, as the last: git refuses many commands until such an operation ends. */
const states: Record<string, Change> = {
  none() {},
  detached: (tree) => void git(tree, "checkout", "--quiet", "--detach"),
  otherBranch: (tree, random) =>
    void git(tree, "checkout", "--quiet", "-b", `side-${random.below(1e9)}`),
  merge(tree) {
    diverge(tree);
    conflicts(tree, "merge");
  },
  rebase(tree) {
    diverge(tree);
    conflicts(tree, "rebase");
  },
  cherryPick(tree) {
    diverge(tree);
    conflicts(tree, "cherry-pick");
  },
};

/** Two branches that change the same file. Only a ref of the worktree names the other branch. */
function diverge(tree: string): void {
  git(tree, "add", "--all");
  git(tree, "commit", "--quiet", "--allow-empty", "--message=all");
  commit(tree, "a.txt", "mine\n");
  const mine = git(tree, "rev-parse", "HEAD");
  git(tree, "reset", "--quiet", "--hard", "HEAD~1");
  commit(tree, "a.txt", "theirs\n");
  git(tree, "update-ref", "refs/worktree/side", "HEAD");
  git(tree, "reset", "--quiet", "--hard", mine);
}

function conflicts(tree: string, command: string): void {
  const { status } = spawnSync("git", ["-C", tree, command, "refs/worktree/side"]);
  if (status === 0) throw new Error(`${command} made no conflict.`);
}

/** Changes the worktree at random, and returns the names of the changes. */
export function disturb(tree: string, seed: number, submodule: string): string[] {
  const random = openRandom(seed);
  const names = Object.keys(changes).filter(() => random.chance());
  const state = Object.keys(states)[seed % Object.keys(states).length]!;
  for (const name of names) changes[name]!(tree, random, { submodule });
  states[state]!(tree, random, { submodule });
  // Some changes are made after the operation too, if git allows it.
  for (const name of ["untracked", "ignored", "unstaged"]) {
    if (random.chance()) changes[name]!(tree, random, { submodule });
  }
  return [...names, state];
}

/** Every file of the worktree: name, type, mode and content. Leaves out git's own file. */
export function filesOf(directory: string, without: (path: string) => boolean = () => false) {
  const found: Record<string, string> = {};
  const look = (below: string) => {
    for (const name of readdirSync(join(directory, below)).sort()) {
      const path = below === "" ? name : `${below}/${name}`;
      if (name === ".git" || without(path)) continue;
      const place = join(directory, path);
      const stat = lstatSync(place);
      if (stat.isDirectory()) look(path);
      else if (stat.isSymbolicLink()) found[path] = `-> ${readlinkSync(place)}`;
      else {
        const hash = createHash("sha256").update(readFileSync(place)).digest("hex");
        found[path] = `${(stat.mode & 0o777).toString(8)} ${hash}`;
      }
    }
  };
  look("");
  return found;
}

/** git's state of a worktree: HEAD, index with its stages, refs, reflog, and operations under way. */
export function knownOf(tree: string) {
  const admin = git(tree, "rev-parse", "--absolute-git-dir");
  return {
    head: readFileSync(join(admin, "HEAD"), "utf8"),
    tip: git(tree, "rev-parse", "HEAD"),
    log: git(tree, "rev-list", "--parents", "HEAD"),
    stages: git(tree, "ls-files", "--stage", "-z"),
    index: createHash("sha256")
      .update(readFileSync(join(admin, "index")))
      .digest("hex"),
    refs: git(tree, "for-each-ref", "--format=%(refname) %(objectname)")
      .split("\n")
      .filter((line) => !line.startsWith("refs/hawser/")),
    reflog: git(tree, "reflog", "show", "--format=%H %gs", "HEAD"),
    admin: filesOf(admin),
  };
}

export const isIgnored = (path: string) => /^ignored\/|\.log$/.test(path);

/** The state that a revert restores. */
export function stateOf(place: string) {
  const told = (...args: string[]) =>
    spawnSync("git", ["-C", place, ...args], { encoding: "utf8" }).stdout.trim();
  return {
    files: filesOf(place, isIgnored),
    // Empty for a branch without commits; no branch if HEAD is detached.
    head: told("rev-parse", "--verify", "--quiet", "HEAD"),
    branch: told("symbolic-ref", "--quiet", "HEAD"),
    staged: git(place, "ls-files", "--stage"),
  };
}

/** A change of files that an agent or a user may make, as a shell command that never fails. */
export function changeTree(random: Random, more: readonly string[] = []): string {
  const name = `f${random.below(4)}`;
  const commands = [
    `mkdir -p d && echo ${random.below(1e6)} > d/${name}.txt`,
    `echo ${random.below(1e6)} >> ${name}.txt`,
    `rm -rf ${name}.txt d`,
    `head -c 3000 /dev/urandom > ${name}.bin`,
    `rm -rf d && ln -s ${name}.txt d`,
    `rm -rf ${name}.txt && mkdir ${name}.txt && echo in > ${name}.txt/in.txt`,
    `git add -A`,
    `git add -A && git commit -qm ${name} --allow-empty`,
    `git reset -q --hard HEAD~1`,
    `git checkout -q --detach`,
    `git rm -q --cached -r --ignore-unmatch ${name}.txt`,
    `mkdir -p ignored && echo kept > ignored/${name} && echo l > ${name}.log`,
    `chmod +x ${name}.txt`,
    ...more,
  ];
  return `${commands[random.below(commands.length)]!} || true`;
}
