// The stand-in is good enough for the real `gh` and the real git, over https and over ssh.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { enterpriseHost, startGithub, type Github } from "./github.ts";
import { removeDirectory } from "./remove-directory.ts";
import { startSshServer, type SshServer } from "./ssh-server.ts";

const home = mkdtempSync(join(tmpdir(), "hawser-github-test-"));
const token = "gho_of_ada";
let github: Github;
let ssh: SshServer;

before(async () => {
  github = await startGithub({
    token,
    repositories: [
      { name: "ada/api" },
      { name: "acme/web", private: true, affiliation: "organization_member" },
      { name: "bob/lib", private: true, affiliation: "collaborator" },
    ],
  });
  ssh = await startSshServer({ directory: github.directory, hosts: ["github.com"] });
  writeFileSync(join(home, ".gitconfig"), `[http]\n\tsslCAInfo = ${github.authorityFile}\n`);
});

after(async () => {
  await ssh?.[Symbol.asyncDispose]();
  await github?.[Symbol.asyncDispose]();
  removeDirectory(home);
});

async function run(command: string, args: string[], environment: Record<string, string> = {}) {
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    // gh caches answers of a server here for a day.
    TMPDIR: home,
    GIT_TERMINAL_PROMPT: "0",
    ...github.environment,
    ...environment,
  };
  const { stdout, stderr } = await promisify(execFile)(command, args, { env, timeout: 20_000 });
  return stdout + stderr;
}

for (const [where, login] of [
  ["github.com", { GH_TOKEN: token }],
  [enterpriseHost, { GH_HOST: enterpriseHost, GH_ENTERPRISE_TOKEN: token }],
] as const) {
  test(`gh is logged in to ${where}, and lists what its account can reach`, async () => {
    assert.match(await run("gh", ["auth", "status"], login), /Logged in to \S+ as ada/);
    const names = ["api", "user/repos?per_page=2", "--paginate", "--jq", ".[].full_name"];
    assert.equal(await run("gh", names, login), "ada/api\nacme/web\nbob/lib\n");
    assert.match(await run("gh", ["repo", "list"], login), /^ada\/api\t.*\tpublic/);
  });
}

test("gh is refused with a token that is no longer valid", async () => {
  await assert.rejects(run("gh", ["api", "user"], { GH_TOKEN: "gho_former" }), /HTTP 401/);
});

test("a private repository is cloned over https by who has the token, and by nobody else", async () => {
  const clone = (name: string) => [
    "-c",
    "credential.helper=!gh auth git-credential",
    "clone",
    "https://github.com/acme/web.git",
    join(home, name),
  ];
  await assert.rejects(run("git", clone("refused")), /could not read Username/);
  await run("git", clone("https"), { GH_TOKEN: token });
  assert.ok(existsSync(join(home, "https", "README.md")));
});

test("a private repository is cloned over ssh by who has the key, and by nobody else", async () => {
  const clone = (name: string, client: string) =>
    run("git", ["clone", "git@github.com:acme/web.git", join(home, name)], {
      PATH: `${client}:${process.env["PATH"]}`,
    });
  await assert.rejects(clone("stranger", ssh.strangerDirectory), /Permission denied/);
  await clone("ssh", ssh.clientDirectory);
  assert.ok(existsSync(join(home, "ssh", "README.md")));
});
