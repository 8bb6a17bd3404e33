// A repository whose own files try to make git run a program (T7). Each way is first tried with plain
// git, where the marker must appear: a way that git itself no longer takes proves nothing here. Then
// every command we have is run in the same repository, and the marker must not.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gitCommands, type GitCommand } from "./commands.ts";
import { createGit, type GitCall, type GitError } from "./git.ts";

const place = mkdtempSync(join(tmpdir(), "hawser-hostile-"));
after(() => rmSync(place, { recursive: true, force: true }));

const home = join(place, "home");
const marker = join(place, "marker");
const evil = join(place, "evil");
const bin = join(place, "bin");
mkdirSync(home);
mkdirSync(bin);
program(evil, `echo "$0 $*" >> ${marker}`);
// A stand-in for ssh and the far host: it runs here what git asks it to run there.
program(join(bin, "ssh"), `for last; do :; done\nexec sh -c "$last"`);
writeFileSync(join(home, ".gitconfig"), "[user]\nname = Ada\nemail = ada@acme.example\n");
const environment = { HOME: home, PATH: `${bin}:${process.env["PATH"]}` };
const git = createGit(environment);

function program(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

function plain(directory: string, ...args: string[]): void {
  spawnSync("git", ["-C", directory, ...args], {
    env: environment,
    stdio: "ignore",
    timeout: 5_000,
  });
}

function must(directory: string, ...args: string[]): void {
  execFileSync("git", ["-C", directory, ...args], {
    env: environment,
    stdio: "ignore",
    timeout: 5_000,
  });
}

let count = 0;
/** A project with a change in it and an origin beyond ssh. */
function createProject(): { directory: string; origin: string } {
  const directory = join(place, `project-${++count}`);
  const origin = `${directory}.git`;
  mkdirSync(directory);
  must(place, "init", "--quiet", "--bare", "--initial-branch=main", origin);
  must(directory, "init", "--quiet", "--initial-branch=main");
  writeFileSync(join(directory, ".gitattributes"), "*.txt filter=evil diff=evil\n");
  writeFileSync(join(directory, "a.txt"), "one\n");
  must(directory, "add", ".");
  must(directory, "commit", "--quiet", "--message=first");
  writeFileSync(join(directory, "a.txt"), "two\n");
  must(directory, "remote", "add", "origin", `ssh://far${origin}`);
  must(directory, "push", "--quiet", "origin", "main");
  return { directory, origin };
}

interface Way {
  plant: (directory: string) => void;
  /** The plain git command that falls for it. */
  trigger: string[];
  /** Our commands do their work all the same; else the repository is refused, or the address. */
  works?: false;
}

const set = (name: string, value: string) => (directory: string) =>
  must(directory, "config", name, value);
const both =
  (...steps: ((directory: string) => void)[]) =>
  (directory: string) =>
    steps.forEach((step) => step(directory));
const hook = (name: string) => (directory: string) =>
  program(join(directory, ".git", "hooks", name), evil);
const attributes = (line: string) => (directory: string) =>
  writeFileSync(join(directory, ".git", "info", "attributes"), `${line}\n`);

const checkOut = ["worktree", "add", "-b", "other", "../plain"];
const push = ["push", "origin", "HEAD:refs/heads/plain"];

const ways: Record<string, Way> = {
  "core.fsmonitor": { plant: set("core.fsmonitor", evil), trigger: ["status"] },
  "hooks/post-checkout": { plant: hook("post-checkout"), trigger: checkOut },
  "hooks/reference-transaction": { plant: hook("reference-transaction"), trigger: checkOut },
  "hooks/pre-push": { plant: hook("pre-push"), trigger: push },
  "core.hooksPath": {
    plant: both(
      (directory) => mkdirSync(join(directory, "hooks")),
      (directory) => program(join(directory, "hooks", "post-checkout"), evil),
      set("core.hooksPath", "hooks"),
    ),
    trigger: checkOut,
  },
  "diff.external": { plant: set("diff.external", evil), trigger: ["diff"] },
  "diff.*.command": { plant: set("diff.evil.command", evil), trigger: ["diff"] },
  "diff.*.textconv": { plant: set("diff.evil.textconv", evil), trigger: ["diff"] },
  "filter.*.clean": { plant: set("filter.evil.clean", evil), trigger: ["diff"] },
  "filter.*.smudge": { plant: set("filter.evil.smudge", evil), trigger: checkOut },
  "filter.*.process": { plant: set("filter.evil.process", evil), trigger: checkOut },
  "filter.*.clean, required": {
    plant: both(set("filter.evil.clean", evil), set("filter.evil.required", "true")),
    trigger: ["diff"],
  },
  "filter with = in its name": {
    plant: both(attributes("*.txt filter=a=b"), set("filter.a=b.clean", evil)),
    trigger: ["diff"],
  },
  "filter with a dot and a capital in its name": {
    plant: both(attributes("*.txt filter=A.b"), set("filter.A.b.clean", evil)),
    trigger: ["diff"],
  },
  "filter of core.attributesFile": {
    plant: both(
      // The changed file gets the filter of core.attributesFile only if the repository names no other.
      (directory) => writeFileSync(join(directory, ".gitattributes"), "*.txt diff=evil\n"),
      (directory) => writeFileSync(join(directory, "more"), "* filter=more\n"),
      (directory) => set("core.attributesFile", join(directory, "more"))(directory),
      set("filter.more.clean", evil),
    ),
    trigger: ["diff"],
  },
  "config.worktree": {
    plant: both(set("extensions.worktreeConfig", "true"), (directory) =>
      must(directory, "config", "--worktree", "filter.evil.clean", evil),
    ),
    trigger: ["diff"],
  },
  "core.sshCommand": { plant: set("core.sshCommand", evil), trigger: ["fetch"] },
  "remote.*.uploadpack": { plant: set("remote.origin.uploadpack", evil), trigger: ["fetch"] },
  "remote.*.receivepack": { plant: set("remote.origin.receivepack", evil), trigger: push },
  "a submodule's own configuration": {
    plant(directory) {
      const { origin } = createProject();
      must(directory, "-c", "protocol.file.allow=always", "submodule", "add", origin, "sub");
      must(directory, "commit", "--quiet", "--message=sub");
      must(join(directory, "sub"), "config", "core.fsmonitor", evil);
    },
    trigger: ["status"],
  },
  "submodule.recurse into one": {
    plant(directory) {
      const { origin } = createProject();
      must(directory, "-c", "protocol.file.allow=always", "submodule", "add", origin, "sub");
      must(directory, "config", "diff.submodule", "diff");
      must(directory, "config", "status.submoduleSummary", "true");
      must(directory, "config", "submodule.recurse", "true");
      must(join(directory, "sub"), "config", "diff.external", evil);
      must(join(directory, "sub"), "config", "core.fsmonitor", evil);
      must(join(directory, "sub"), "config", "core.sshCommand", evil);
    },
    trigger: ["diff"],
  },
  "gpg.program": {
    plant: both(set("push.gpgSign", "true"), set("gpg.program", evil)),
    trigger: ["-c", "user.signingKey=x", "commit", "--allow-empty", "-S", "-m", "signed"],
  },
  "include.path": {
    plant: both(
      (directory) =>
        writeFileSync(
          join(directory, "more"),
          `[core]\nfsmonitor = ${evil}\n[filter "evil"]\nclean = ${evil}\n`,
        ),
      (directory) => set("include.path", join(directory, "more"))(directory),
    ),
    trigger: ["diff"],
    works: false,
  },
  "includeIf.*.path": {
    plant: both(
      (directory) => writeFileSync(join(directory, "more"), `[filter "evil"]\nclean = ${evil}\n`),
      (directory) => set(`includeIf.gitdir:${place}/.path`, join(directory, "more"))(directory),
    ),
    trigger: ["diff"],
    works: false,
  },
  "core.gitProxy": {
    plant: both(set("remote.origin.url", "git://127.0.0.1/x"), set("core.gitProxy", evil)),
    trigger: ["fetch"],
  },
  "an ext:: remote": {
    plant: both(
      set("protocol.ext.allow", "always"),
      set("remote.origin.url", `ext::sh -c ${evil}`),
    ),
    trigger: ["fetch"],
  },
  "files of a bare repository": {
    plant(directory) {
      rmSync(join(directory, ".git"), { recursive: true });
      must(place, "init", "--quiet", "--bare", directory);
      must(directory, "config", "core.bare", "false");
      must(directory, "config", "core.worktree", ".");
      must(directory, "config", "core.fsmonitor", evil);
      plain(directory, "add", "a.txt");
    },
    trigger: ["status"],
    works: false,
  },
};

/** Every command that may be run in a repository. */
const calls: [GitCommand, (origin: string, tree: string) => Partial<GitCall>][] = [
  ["rev-parse", () => ({ options: ["--verify"], revisions: ["HEAD"] })],
  ["status", () => ({ options: ["--porcelain"] })],
  [
    "rev-list",
    () => ({ options: ["--count", "--not", "--remotes", "--not"], revisions: ["HEAD"] }),
  ],
  ["symbolic-ref", () => ({ operands: ["HEAD"] })],
  ["diff", () => ({ revisions: ["HEAD"] })],
  ["diff", () => ({ options: ["--stat"], operands: ["a.txt"] })],
  ["worktree add", (_origin, tree) => ({ options: ["--detach"], operands: [tree, "HEAD"] })],
  ["fetch", () => ({ operands: ["origin"] })],
  ["fetch", (origin) => ({ operands: [`ssh://far${origin}`, "main"] })],
  ["push", (origin) => ({ operands: [`ssh://far${origin}`, "HEAD:refs/heads/ours"] })],
  ["push", () => ({ operands: ["origin", "HEAD:refs/heads/ours"] })],
  ["worktree remove", (_origin, tree) => ({ options: ["--force"], operands: [tree] })],
  ["ls-files", () => ({ options: ["-t"] })],
  ["ls-tree", () => ({ operands: ["HEAD"] })],
  ["cat-file --batch", () => ({ input: "HEAD:README.md\n" })],
  ["branch", () => ({ options: ["--list"] })],
  ["config", () => ({ operands: ["remote.origin.url"] })],
  ["config --list", () => ({ options: ["--file=.git/config"] })],
  ["cat-file", () => ({ input: "HEAD\n" })],
  ["hash-object", () => ({ options: ["-tblob"], input: "kept" })],
  ["mktree", () => ({ input: "" })],
  ["update-ref", () => ({ operands: ["refs/hawser/kept", "HEAD"] })],
  ["sparse-checkout set", () => ({ operands: ["/*", "!left-out"] })],
  ["checkout", () => ({ options: ["--quiet"] })],
  ["sparse-checkout reapply", () => ({})],
  ["symbolic-ref", () => ({ operands: ["HEAD"] })],
  ["for-each-ref", () => ({})],
  ["update-index", () => ({ input: "a.txt\0" })],
  ["write-tree", () => ({})],
  ["read-tree", () => ({ options: ["--reset", "-u"], operands: ["HEAD"] })],
  ["checkout-index", () => ({ input: "a.txt\0" })],
  ["config --local", () => ({ operands: ["extensions.worktreeConfig", "true"] })],
  ["config --worktree", () => ({ operands: ["user.name", "Ada"] })],
];

test("every command that works in a repository is tried", () => {
  const tried = new Set(["clone", ...calls.map(([command]) => command)]);
  assert.deepEqual(
    Object.keys(gitCommands).filter((command) => !tried.has(command)),
    [],
  );
});

for (const [name, { plant, trigger, works }] of Object.entries(ways)) {
  test(`plain git falls for it, we do not: ${name}`, async () => {
    const { directory, origin } = createProject();
    plant(directory);
    rmSync(marker, { force: true });
    plain(directory, ...trigger);
    assert.ok(existsSync(marker), "this git does not fall for it, so the rest shows nothing");
    rmSync(join(place, "plain"), { recursive: true, force: true });
    rmSync(marker);
    for (const [command, call] of calls) {
      const tree = `${directory}-tree`;
      const outcome = await git
        .runIn(directory, command, { deadlineMs: 10_000, ...call(origin, tree) })
        .then(
          () => "done",
          (error: GitError) => `${error.reason}: ${error.message}`,
        );
      assert.equal(existsSync(marker), false, `git ${command} ran the marker`);
      const isOdd = name === "core.gitProxy" || name === "an ext:: remote";
      if (works === false) assert.match(outcome, /^(?:unsafe_repository|failed): /, command);
      else if (!isOdd || (command !== "fetch" && command !== "push"))
        assert.equal(outcome, "done", command);
    }
  });
}
