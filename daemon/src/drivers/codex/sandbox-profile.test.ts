// Which paths the sandbox of a session opens and hides.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { createRepository, git } from "@hawser/testkit/git-repository.ts";
import { protectedPaths } from "../../policy/protected-paths.ts";
import { makePlace, profileOf, type HostPaths } from "./sandbox.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-profile-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const home = join(folder, "home");
const state = join(home, ".local/state/hawser");
const program = join(state, "agents/codex/1/vendor/x/bin/codex");

function write(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
}
for (const name of [".ssh/id", ".cargo/bin/cargo", ".cargo/credentials.toml", ".codex/auth.json"]) {
  write(join(home, name));
}
for (const name of ["agents/codex/current.json", "credentials.json", "attachments/1/0"]) {
  write(join(state, name));
}
write(program);

const host: HostPaths = {
  ...protectedPaths(state, home),
  program,
  codexHome: join(home, ".codex"),
  userHome: home,
  searchPath: `/usr/bin:${home}:${folder}:${join(home, ".cargo/bin")}:${join(home, ".ssh")}:bin`,
};

function entriesFor(directory: string, more: Partial<HostPaths> = {}) {
  const place = makePlace(directory, join(state, "tmp"), "session");
  const { filesystem, network } = profileOf(place, { ...host, ...more });
  assert.deepEqual(network, { enabled: false });
  const { ":workspace_roots": inside, ":minimal": minimal, ...others } = filesystem;
  assert.equal(minimal, "read");
  // The system's directories depend on the machine.
  const made = Object.entries(others).filter(([path]) => path.startsWith(folder));
  return { inside, outside: Object.fromEntries(made) };
}

const usual = {
  [join(home, ".cargo/bin")]: "read",
  [dirname(program)]: "read",
  [join(state, "tmp/session")]: "write",
  [join(state, "tmp/session/attachments")]: "read",
};
const settings = { ".claude": "read", ".opencode": "read" };

test("a directory without a repository: programs can be read, the home and the state cannot", () => {
  const directory = join(folder, "plain");
  mkdirSync(directory);
  assert.deepEqual(entriesFor(directory), {
    inside: { ".": "write", ...settings, ".git": "read" },
    outside: usual,
  });
});

test("a checkout: git's directory can be written, except for its hooks and settings", () => {
  const directory = createRepository(join(folder, "checkout"));
  writeFileSync(join(directory, "opencode.json"), "{}");
  symlinkSync("README.md", join(directory, ".mcp.json"));
  const kept = { ".git/hooks": "read", ".git/config": "read", ".git/config.worktree": "read" };
  const inside = { ".": "write", ...settings, "opencode.json": "read", ".git": "write", ...kept };
  assert.deepEqual(entriesFor(directory), { inside, outside: usual });
  // A command could write this file.
  writeFileSync(join(directory, ".git/commondir"), join(home, ".ssh"));
  assert.deepEqual(entriesFor(directory), { inside, outside: usual });
});

test("a directory in a checkout: the other files can be read", () => {
  const top = createRepository(join(folder, "monorepo"));
  const directory = join(top, "packages/one");
  mkdirSync(directory, { recursive: true });
  const own = join(top, ".git");
  assert.deepEqual(entriesFor(directory).outside, {
    ...usual,
    [top]: "read",
    [own]: "write",
    [join(own, "hooks")]: "read",
    [join(own, "config")]: "read",
    [join(own, "config.worktree")]: "read",
  });
});

test("a worktree: commits can be stored, the repository's hooks and settings are read-only", () => {
  const repository = createRepository(join(folder, "main"));
  const directory = join(state, "worktrees/tree");
  git(repository, "worktree", "add", "--quiet", directory);
  const common = join(repository, ".git");
  const own = join(common, "worktrees/tree");
  const { inside, outside } = entriesFor(directory);
  assert.deepEqual(inside, { ".": "write", ...settings, ".git": "read" });
  assert.deepEqual(outside, {
    ...usual,
    [common]: "read",
    [join(common, "objects")]: "write",
    [join(common, "refs")]: "write",
    [join(common, "logs")]: "write",
    [own]: "write",
    [join(own, "commondir")]: "read",
    [join(own, "gitdir")]: "read",
    [join(own, "config.worktree")]: "read",
  });
});

test("the user's home as the directory: what is closed stays hidden, beside what the sandbox needs", () => {
  git(home, "init", "--quiet");
  const { outside } = entriesFor(home);
  assert.deepEqual(outside, {
    ...usual,
    [join(home, ".codex")]: "read",
    [join(home, ".claude")]: "read",
    [join(home, ".ssh")]: "deny",
    [join(home, ".codex/auth.json")]: "deny",
    [join(state, "credentials.json")]: "deny",
    [join(state, "attachments")]: "deny",
    [join(state, "worktrees")]: "deny",
    [join(state, "agents/codex/current.json")]: "deny",
  });
  const below = join(home, "projects");
  mkdirSync(below);
  assert.deepEqual(entriesFor(below).outside, usual, "the repository of the home is not opened");
});
