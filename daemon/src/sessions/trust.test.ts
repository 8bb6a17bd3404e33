// Configuration of trusted repositories, with real git over https and the scripted agent: what a session uses
// of it, and that nothing in the repository on the host counts.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import type { TrustedRepository } from "@hawser/contract";
import { makeCloneHost, wantedClone, type CloneHost } from "@hawser/testkit/clone-host.ts";
import { makeGithubHome } from "@hawser/testkit/github-home.ts";
import { startGithub, type Github } from "@hawser/testkit/github.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { script, wanted, type OpenHost } from "@hawser/testkit/small-host.ts";
import { until } from "@hawser/testkit/until.ts";

const token = "gho_trusted";
const place = mkdtempSync(join(tmpdir(), "hawser-trust-"));
const origin = "github.com/acme/app";
const trusted: TrustedRepository[] = [{ origin, parts: ["skills", "hooks"] }];
const skill = ".scripted/skills/deep/tidy.md";
let github: Github;

before(async () => {
  github = await startGithub({
    token,
    repositories: [
      { name: "acme/app", private: true },
      { name: "acme/large", private: true },
      { name: "acme/odd", private: true },
      { name: "acme/broken", private: true },
    ],
  });
  push("acme/app", (work) => {
    write(work, { [skill]: "Tidy.\u0000ü", ".scripted/other": "x" });
    symlinkSync("/etc/passwd", join(work, ".scripted/skills/stolen.md"));
  });
  const many = Array.from({ length: 501 }, (_, i) => [`.scripted/skills/${i}.md`, "x"] as const);
  push("acme/broken", (work) =>
    write(work, { [skill]: "Tidy.", ".scripted/servers.json": '{"servers":' }),
  );
  push("acme/large", (work) => write(work, Object.fromEntries(many)));
});

after(async () => {
  await github?.[Symbol.asyncDispose]();
  removeDirectory(place);
});

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, "-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    encoding: "utf8",
    stdio: "pipe",
  }).trim();

function write(directory: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}

/** Pushes a commit to the default branch. */
function push(name: string, change: (work: string) => void): void {
  const work = join(place, name);
  execFileSync("git", ["clone", "--quiet", join(github.directory, `${name}.git`), work]);
  change(work);
  git(work, "add", "--all");
  git(work, "commit", "--quiet", "--message=configured");
  git(work, "push", "--quiet", "origin", "HEAD");
}

const makeHost = () => makeCloneHost((home) => makeGithubHome(github, home, { token }));
const copies = ({ small }: CloneHost) => join(small.directory, "state/trusted");

async function start(host: OpenHost, directory: string, changes: object = {}) {
  const payload = { ...wanted(directory), trusted, ...changes };
  const started = await host.must("start_session", payload);
  return { sessionId: payload.sessionId, started, entry: entryOf(host, payload.sessionId) };
}

const entryOf = (host: OpenHost, sessionId: string) =>
  host
    .entries(sessionId)
    .map(({ update }) => update)
    .find((update) => update.sessionUpdate === "config_trusted");

/** The small host's repository as a clone of the origin. */
function setOrigin({ small }: CloneHost, address: string): string {
  git(small.repository, "remote", "add", "origin", address);
  return small.repository;
}

test("files of the origin's default branch are used, and nothing of the repository on the host", async () => {
  using cloning = makeHost();
  const repository = setOrigin(cloning, `https://${origin}.git`);
  // An agent can write objects, branches and replacements into the repository that its worktree shares.
  write(repository, { [skill]: "EVIL", ".scripted/skills/evil.md": "EVIL" });
  git(repository, "add", "--all");
  git(repository, "commit", "--quiet", "--message=evil");
  git(repository, "update-ref", "refs/remotes/origin/main", "HEAD");
  git(repository, "update-ref", "refs/remotes/origin/HEAD", "HEAD");
  const host = cloning.open();
  for (const useWorktree of [true, false]) {
    const { sessionId, started, entry } = await start(host, repository, { useWorktree });
    assert.deepEqual(started.trustedParts, ["skills"]);
    assert.deepEqual(entry, {
      sessionUpdate: "config_trusted",
      origin,
      parts: ["skills"],
      paths: [skill],
      reason: "opencode cannot use hooks.",
    });
    const copy = join(copies(cloning), sessionId);
    const copied = new Set(readdirSync(copy, { recursive: true, encoding: "utf8" }));
    assert.deepEqual(copied, new Set(["skills", "skills/deep", "skills/deep/tidy.md"]));
    assert.equal(readFileSync(join(copy, "skills/deep/tidy.md"), "utf8"), "Tidy.\u0000ü");
    await host.must("end_session", { sessionId });
  }
  await host.close();
  const next = cloning.open();
  await until("the copies are removed", () => readdirSync(copies(cloning)).length === 0);
  await next.close();
});

test("nothing is used of a repository that is not trusted", async () => {
  using cloning = makeHost();
  const repository = setOrigin(cloning, `https://${origin}.git`);
  const host = cloning.open();
  const cases: [string, TrustedRepository[] | undefined][] = [
    ["no list", undefined],
    ["another origin", [{ origin: "github.com/acme/other", parts: ["skills"] }]],
    ["another part", [{ origin, parts: ["commands"] }]],
  ];
  for (const [name, list] of cases) {
    const { started, sessionId } = await start(host, repository, { trusted: list });
    assert.deepEqual(started.trustedParts, [], name);
    assert.ok(!existsSync(join(copies(cloning), sessionId)), name);
  }
  const insecure = [`http://${origin}`, `https://ada:x@${origin}`, "ada@github.com:acme/app"];
  for (const address of insecure) {
    git(repository, "remote", "set-url", "origin", address);
    const { started, entry } = await start(host, repository);
    assert.deepEqual([started.trustedParts, entry?.parts], [[], []], address);
    assert.match(entry?.reason ?? "", /no encryption, or contains a user.*https or ssh/, address);
  }
  await host.close();
});

test("files that cannot be fetched or are too many are not used, and the log says why", async () => {
  using cloning = makeHost();
  const repository = setOrigin(cloning, "https://github.com/acme/nothing.git");
  const host = cloning.open();
  const cases: [string, RegExp][] = [
    ["acme/nothing", /could not be copied from origin/],
    ["acme/large", /more than 500 files/],
  ];
  for (const [name, reason] of cases) {
    git(repository, "remote", "set-url", "origin", `https://github.com/${name}.git`);
    const list = [{ origin: `github.com/${name}`, parts: ["skills"] }];
    const { started, entry } = await start(host, repository, { trusted: list });
    assert.deepEqual(started.trustedParts, [], name);
    assert.match(entry?.reason ?? "", reason);
  }
  assert.deepEqual(readdirSync(copies(cloning)), []);
  await host.close();
});

test("a part whose file is broken is not used, and the log says so", async () => {
  using cloning = makeHost();
  const repository = setOrigin(cloning, "https://github.com/acme/broken.git");
  const host = cloning.open();
  const list = [{ origin: "github.com/acme/broken", parts: ["skills", "mcp_servers"] }];
  const { started, entry } = await start(host, repository, { trusted: list });
  assert.deepEqual(started.trustedParts, ["skills"]);
  assert.deepEqual(
    [entry?.parts, entry?.paths, entry?.reason],
    [
      ["skills"],
      [skill],
      "mcp_servers is not used: .scripted/servers.json of the default branch is not valid JSON. Correct it, and start a new session.",
    ],
  );
  await host.close();
});

test("names that no file system accepts do not prevent a start", async () => {
  const bare = join(github.directory, "acme/odd.git");
  const blob = execFileSync("git", ["-C", bare, "hash-object", "-w", "--stdin"], { input: "x" });
  const tree = (input: string) =>
    execFileSync("git", ["-C", bare, "mktree"], { input, encoding: "utf8" }).trim();
  const inner = tree(`100644 blob ${blob.toString().trim()}\t${"n".repeat(300)}.md\n`);
  const skills = tree(`040000 tree ${inner}\tskills\n`);
  const top = tree(`040000 tree ${skills}\t.scripted\n`);
  const commit = git(bare, "commit-tree", top, "-m", "odd");
  git(bare, "update-ref", git(bare, "symbolic-ref", "HEAD"), commit);
  using cloning = makeHost();
  const repository = setOrigin(cloning, "https://github.com/acme/odd.git");
  const host = cloning.open();
  const list = [{ origin: "github.com/acme/odd", parts: ["skills"] }];
  const { started, entry } = await start(host, repository, { trusted: list });
  assert.deepEqual(started.trustedParts, []);
  assert.match(entry?.reason ?? "", /could not be written on the host \(ENAMETOOLONG\)/);
  await host.close();
});

test("a daemon that starts again, a restored session and a session in a clone use the same files", async () => {
  using cloning = makeHost();
  const repository = setOrigin(cloning, `https://${origin}.git`);
  const host = cloning.open();
  const { sessionId } = await start(host, repository);
  await host.close();
  const next = cloning.open();
  const copy = join(copies(cloning), sessionId, "skills/deep/tidy.md");
  assert.ok(existsSync(copy));
  await next.must("send_prompt", { sessionId, text: script([{ text: "Done." }]) });
  await next.until(sessionId, "turn_finished");
  assert.ok(existsSync(copy));
  await next.must("end_session", { sessionId });
  const { sessionId: restored, policy } = wanted(repository);
  const payload = { sessionId: restored, parkedId: sessionId, policy, author: null, trusted };
  assert.deepEqual((await next.must("restore_session", payload)).trustedParts, ["skills"]);
  assert.ok(existsSync(join(copies(cloning), restored, "skills/deep/tidy.md")));
  const inClone = { ...wantedClone({ repo: "acme/app" }), trusted };
  const cloned = await next.must("start_session_in_clone", inClone);
  assert.deepEqual(cloned.trustedParts, ["skills"]);
  await next.close();
});
