// A repository whose own configuration names programs, and the commands that agents run in it by
// themselves. Each way is first tried with plain git. Then the marker must stay away: because the
// environment of agents switches the setting off, or because the repository is refused.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { agentGitEnvironment, createAgentGit } from "./agent-git.ts";
import { createGit } from "./git.ts";

const place = mkdtempSync(join(tmpdir(), "hawser-agent-git-"));
after(() => rmSync(place, { recursive: true, force: true }));
const home = join(place, "home");
const marker = join(place, "marker");
const evil = join(place, "evil");
mkdirSync(home);
program(evil, `echo "$0 $*" >> ${marker}`);
writeFileSync(join(home, ".gitconfig"), "[user]\nname = Ada\nemail = ada@acme.example\n");
const own = { HOME: home, PATH: process.env["PATH"] };
const agentGit = createAgentGit(createGit(own));

function program(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

function git(directory: string, ...args: string[]): string {
  const allow = ["-c", "protocol.file.allow=always", "-c", "advice.addEmbeddedRepo=false"];
  return execFileSync("git", ["-C", directory, ...allow, ...args], { env: own, encoding: "utf8" });
}

/** The commands that real agents run at a start, a resume or a prompt. */
function runLikeAgents(directory: string, more: NodeJS.ProcessEnv): void {
  // Same size and another time: git reads the file again.
  writeFileSync(join(directory, "a.txt"), "two\n");
  for (const args of [
    ["--no-optional-locks", "status", "--short"],
    ["--no-optional-locks", "status", "--porcelain"],
    ["--no-optional-locks", "log", "--oneline", "-n", "5"],
    ["ls-files", "--error-unmatch", "--", "a.txt"],
    ["remote", "-v"],
    ["config", "user.name"],
    ["rev-parse", "--show-toplevel"],
  ]) {
    spawnSync("git", args, { cwd: directory, env: { ...own, ...more }, timeout: 10_000 });
  }
}

let count = 0;
function createProject(): string {
  const directory = join(place, `project-${++count}`);
  mkdirSync(directory);
  git(directory, "init", "--quiet", "--initial-branch=main");
  writeFileSync(join(directory, ".gitattributes"), "*.txt filter=evil diff=evil merge=evil\n");
  writeFileSync(join(directory, "a.txt"), "one\n");
  git(directory, "add", ".");
  git(directory, "commit", "--quiet", "--message=first");
  return directory;
}

type Plant = (directory: string) => void;
const set =
  (name: string, value: string): Plant =>
  (directory) =>
    git(directory, "config", name, value);
const both =
  (...steps: Plant[]): Plant =>
  (directory) =>
    steps.forEach((step) => step(directory));

/** Adds a commit with a signature, which is checked by gpg.program. */
const signed: Plant = (directory) => {
  const tree = git(directory, "rev-parse", "HEAD^{tree}").trim();
  const who = "Ada <ada@acme.example> 1700000000 +0000";
  const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n aaaa\n -----END PGP SIGNATURE-----";
  const text = `tree ${tree}\nauthor ${who}\ncommitter ${who}\n${signature}\n\nsigned\n`;
  const id = execFileSync(
    "git",
    ["-C", directory, "hash-object", "-t", "commit", "-w", "--stdin"],
    {
      env: own,
      input: text,
      encoding: "utf8",
    },
  );
  git(directory, "update-ref", "HEAD", id.trim());
};

const submodule: Plant = (directory) => {
  git(directory, "submodule", "--quiet", "add", createProject(), "sub");
  git(directory, "config", "-f", ".gitmodules", "submodule.sub.ignore", "none");
  git(directory, "commit", "--quiet", "--all", "--message=sub");
};

/** Ways that plain git falls for, with what becomes of them. */
const ways: Record<string, { plant: Plant; refused?: RegExp }> = {
  "core.fsmonitor": { plant: set("core.fsmonitor", evil) },
  "gpg.program": {
    plant: both(signed, set("log.showSignature", "true"), set("gpg.program", evil)),
  },
  "filter.*.clean": { plant: set("filter.evil.clean", evil), refused: /^filter\.evil\.clean \(/ },
  "filter.*.process": {
    plant: both(set("filter.evil.process", evil), set("filter.evil.required", "true")),
    refused: /^filter\.evil\.process \(/,
  },
  "filter with = and a capital in its name": {
    plant: both(
      (directory) => writeFileSync(join(directory, ".git/info/attributes"), "*.txt filter=A=b\n"),
      set("filter.A=b.clean", evil),
    ),
    refused: /^filter\.A=b\.clean \(/,
  },
  "include.path": {
    plant: both(
      (directory) => writeFileSync(join(directory, "more"), `[filter "evil"]\nclean = ${evil}\n`),
      set("include.path", "../more"),
    ),
    refused: /^include\.path \(/,
  },
  "config.worktree": {
    plant: both(set("extensions.worktreeConfig", "true"), (directory) =>
      git(directory, "config", "--worktree", "filter.evil.clean", evil),
    ),
    refused: /^filter\.evil\.clean \(\.git\/config\.worktree\)/,
  },
  "a submodule's monitor": {
    plant: both(submodule, (directory) =>
      git(join(directory, "sub"), "config", "core.fsmonitor", evil),
    ),
    refused: /^core\.fsmonitor \(\.git\/modules\/sub\/config\)/,
  },
  "a submodule's filter": {
    plant: both(submodule, (directory) => {
      git(join(directory, "sub"), "config", "filter.evil.clean", evil);
      writeFileSync(join(directory, "sub/a.txt"), "two\n");
    }),
    refused: /^filter\.evil\.clean \(\.git\/modules\/sub\/config\)/,
  },
  "a submodule with its own git directory": {
    plant: both(submodule, (directory) => {
      rmSync(join(directory, "sub"), { recursive: true });
      rmSync(join(directory, ".git/modules"), { recursive: true });
      git(directory, "clone", "--quiet", createProject(), "sub");
      git(join(directory, "sub"), "config", "core.fsmonitor", evil);
    }),
    refused: /^core\.fsmonitor \(sub\/\.git\/config\)/,
  },
  "an embedded repository that is no submodule": {
    plant(directory) {
      git(directory, "clone", "--quiet", createProject(), "nested");
      git(directory, "add", "nested");
      git(directory, "commit", "--quiet", "--message=nested");
      git(join(directory, "nested"), "config", "core.fsmonitor", evil);
    },
  },
  "a partial clone's ssh command": {
    plant(directory) {
      set("remote.origin.url", "ssh://far/x")(directory);
      set("remote.origin.promisor", "true")(directory);
      set("core.sshCommand", evil)(directory);
      const head = git(directory, "rev-parse", "HEAD:.gitattributes").trim();
      rmSync(join(directory, ".git/objects", head.slice(0, 2), head.slice(2)));
      // Looks for a renamed file, and reads the missing object for it.
      git(directory, "rm", "--quiet", "--cached", ".gitattributes");
      writeFileSync(join(directory, "b"), "*.txt filter=evil diff=evil merge=evil2\n");
      git(directory, "add", "b");
    },
    refused: /^core\.sshcommand \(/,
  },
  "commondir of a checkout": {
    plant(directory) {
      for (const name of ["objects", "refs", "config"]) {
        cpSync(join(directory, ".git", name), join(directory, "shared", name), { recursive: true });
      }
      git(directory, "config", "-f", "shared/config", "filter.evil.clean", evil);
      writeFileSync(join(directory, ".git/commondir"), "../shared\n");
    },
    refused: /^filter\.evil\.clean \(/,
  },
  "files of a bare repository": {
    plant(directory) {
      rmSync(join(directory, ".git"), { recursive: true });
      git(place, "init", "--quiet", "--bare", directory);
      set("core.bare", "false")(directory);
      set("core.worktree", ".")(directory);
      set("filter.evil.clean", evil)(directory);
      spawnSync("git", ["-C", directory, "add", "a.txt"], { env: own });
    },
    refused: /^filter\.evil\.clean \(/,
  },
};

for (const [name, { plant, refused }] of Object.entries(ways)) {
  test(`A3: agents' own git does not fall for ${name}`, async () => {
    const directory = createProject();
    plant(directory);
    rmSync(marker, { force: true });
    runLikeAgents(directory, {});
    assert.ok(existsSync(marker), "plain git does not fall for it, so the rest shows nothing");
    rmSync(marker);
    const found = await agentGit.findPrograms(directory);
    if (refused) return assert.match(found[0] ?? "", refused);
    assert.deepEqual(found, []);
    writeFileSync(join(directory, "a.txt"), "one\n");
    runLikeAgents(directory, agentGitEnvironment);
    assert.equal(existsSync(marker), false);
  });
}

test("A3: git runs no program of a repository whose files an agent wrote into its directory", () => {
  const directory = join(createProject(), "x");
  git(place, "init", "--quiet", "--bare", directory);
  set("core.bare", "false")(directory);
  set("core.worktree", ".")(directory);
  set("filter.evil.clean", evil)(directory);
  writeFileSync(join(directory, ".gitattributes"), "*.txt filter=evil\n");
  writeFileSync(join(directory, "a.txt"), "one\n");
  spawnSync("git", ["-C", directory, "add", "a.txt"], { env: own });
  rmSync(marker, { force: true });
  runLikeAgents(directory, {});
  assert.ok(existsSync(marker), "plain git does not fall for it, so the rest shows nothing");
  rmSync(marker);
  writeFileSync(join(directory, "a.txt"), "one\n");
  runLikeAgents(directory, agentGitEnvironment);
  assert.equal(existsSync(marker), false);
});

test("A3: a repository with common settings of teams is accepted, and runs none of them", async () => {
  const directory = createProject();
  const hooks = join(directory, ".husky");
  mkdirSync(hooks);
  for (const hook of ["pre-commit", "post-index-change", "reference-transaction", "post-checkout"])
    program(join(hooks, hook), evil);
  const settings = {
    "core.hooksPath": ".husky",
    "filter.lfs.clean": "git-lfs clean -- %f",
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "filter.lfs.process": "git-lfs filter-process",
    "filter.lfs.required": "true",
    "credential.helper": evil,
    "core.sshCommand": evil,
    "core.askPass": evil,
    "core.gitProxy": evil,
    "remote.origin.url": "ssh://far/x",
    "remote.origin.uploadpack": evil,
    "remote.origin.receivepack": evil,
    "diff.external": evil,
    "diff.evil.textconv": evil,
    "diff.evil.command": evil,
    "merge.evil.driver": evil,
    "core.editor": evil,
    "core.pager": evil,
    "pager.status": evil,
    "sequence.editor": evil,
    "alias.status": `!${evil}`,
    "interactive.diffFilter": evil,
    "trailer.x.command": evil,
    "uploadpack.packObjectsHook": evil,
    "core.alternateRefsCommand": evil,
    "submodule.x.update": `!${evil}`,
    "gpg.program": evil,
    "commit.gpgSign": "true",
    "hook.x.event": "post-index-change",
    "hook.x.command": evil,
  };
  for (const [name, value] of Object.entries(settings)) set(name, value)(directory);
  rmSync(marker, { force: true });
  assert.deepEqual(await agentGit.findPrograms(directory), []);
  runLikeAgents(directory, agentGitEnvironment);
  assert.equal(existsSync(marker), false);
});

test("A3: a filter called lfs is refused if it is another program, and so are programs of Git LFS", async () => {
  for (const [name, value] of [
    ["filter.lfs.clean", evil],
    ["filter.lfs.clean", "git-lfs clean -- %f; evil"],
    ["lfs.extension.x.clean", evil],
  ] as const) {
    const directory = createProject();
    set(name, value)(directory);
    assert.equal((await agentGit.findPrograms(directory)).length, 1, `${name} = ${value}`);
  }
});

test("A3: what is written after a check is seen by the next one, also from a worktree and a subdirectory", async () => {
  const directory = createProject();
  const tree = join(place, "tree");
  git(directory, "worktree", "add", "--quiet", "--detach", tree);
  mkdirSync(join(tree, "below"));
  const below = join(tree, "below");
  for (const each of [directory, tree, below])
    assert.deepEqual(await agentGit.findPrograms(each), []);
  set("filter.evil.clean", evil)(directory);
  for (const each of [directory, tree, below])
    assert.equal((await agentGit.findPrograms(each)).length, 1, each);
  git(directory, "config", "--unset", "filter.evil.clean");
  assert.deepEqual(await agentGit.findPrograms(below), []);
  writeFileSync(join(directory, ".git/config"), "[core\n");
  assert.match((await agentGit.findPrograms(below))[0] ?? "", /git cannot read/);
  assert.deepEqual(await agentGit.findPrograms(home), [], "no repository");
});
