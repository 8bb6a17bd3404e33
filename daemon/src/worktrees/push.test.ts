// Pushing with real git over real https and ssh, and pull requests through the real `gh`: to the origin
// that was recorded and nowhere else, by the host's own credentials, which nobody gets to see.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createBareRepository } from "@hawser/testkit/bare-repository.ts";
import { createRepository } from "@hawser/testkit/git-repository.ts";
import { makeGithubHome, type GithubHome } from "@hawser/testkit/github-home.ts";
import { enterpriseHost, startGithub, type Github } from "@hawser/testkit/github.ts";
import { startSshServer, type SshServer } from "@hawser/testkit/ssh-server.ts";
import { createCodeHosting } from "../code-hosting/code-hosting.ts";
import { readHostedAddress } from "../code-hosting/hosted-place.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { createGit } from "../git/git.ts";
import { explainPushFailure } from "./push-failure.ts";
import { createPushes, type WantedPush } from "./push.ts";

const token = "gho_pushesOfAda";
const place = mkdtempSync(join(tmpdir(), "hawser-pushes-"));
const signal = AbortSignal.timeout(300_000);
let github: Github;
let ssh: SshServer;

before(async () => {
  github = await startGithub({
    token,
    repositories: [{ name: "acme/widget" }, { name: "acme/elsewhere" }],
  });
  ssh = await startSshServer({ directory: github.directory, hosts: ["github.com", "127.0.0.1"] });
});

after(async () => {
  await ssh?.[Symbol.asyncDispose]();
  await github?.[Symbol.asyncDispose]();
  rmSync(place, { recursive: true, force: true });
});

const widget = "https://github.com/acme/widget.git";
const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8", stdio: "pipe" }).trim();
const bare = (name: string) => join(github.directory, `${name}.git`);
const branchesAt = (name: string) => git(bare(name), "branch", "--format=%(refname:short)");

let count = 0;
/** A host's home, and a repository with a commit that its origin lacks. */
function openHost(home: GithubHome = { token }, more: Record<string, string> = {}) {
  const environment = makeGithubHome(github, join(place, `home-${++count}`), {
    path: [ssh.clientDirectory],
    ...home,
  });
  const own = { ...environment, ...more };
  const pushes = createPushes({ git: createGit(own), codeHosting: createCodeHosting(own) });
  const directory = createRepository(join(place, `repository-${count}`));
  git(directory, "fetch", "--quiet", bare("acme/widget"), "main");
  git(directory, "reset", "--quiet", "--hard", "FETCH_HEAD");
  const tip = commit(directory, `file-${count}.txt`);
  const branch = `hawser/test-${String(count).padStart(10, "0")}`;
  const push = (wanted: Partial<WantedPush> = {}) =>
    pushes.push(
      {
        directory,
        origin: widget,
        branch,
        viaClient: false,
        pullRequest: { title: "A title", body: "A body" },
        ...wanted,
      },
      signal,
    );
  return { pushes, directory, tip, branch, push };
}

function commit(directory: string, name: string): string {
  writeFileSync(join(directory, name), `${name}\n`);
  git(directory, "add", name);
  git(directory, "commit", "--quiet", `--message=${name}`);
  return git(directory, "rev-parse", "HEAD");
}

const refusal = (work: Promise<unknown>): Promise<CommandRefusal> =>
  work.then(
    () => assert.fail("it worked"),
    (error: unknown) => (assert.ok(error instanceof CommandRefusal, String(error)), error),
  );

test("commits are pushed and a pull request is made; later the open one is returned", async () => {
  const { directory, tip, branch, push } = openHost();
  writeFileSync(join(directory, "README.md"), "changed\n");
  writeFileSync(join(directory, "new one.txt"), "new\n");
  const before = git(directory, "status", "--porcelain");
  const pushed = await push();
  assert.deepEqual(pushed, {
    commit: tip,
    branch,
    uncommittedChanges: 2,
    pullRequestUrl: `https://github.com/acme/widget/pull/${github.pullRequests.length}`,
    pullRequestError: null,
    compareUrl: `https://github.com/acme/widget/compare/${branch}?expand=1`,
  });
  assert.equal(git(bare("acme/widget"), "rev-parse", branch), tip);
  assert.equal(git(directory, "status", "--porcelain"), before);
  const { title, body, head, base } = github.pullRequests.at(-1)!;
  assert.deepEqual([title, body, head, base], ["A title", "A body", branch, "main"]);
  const next = commit(directory, "next.txt");
  const again = await push({ pullRequest: { title: "Another", body: "" } });
  assert.equal(again.pullRequestUrl, pushed.pullRequestUrl);
  assert.equal(git(bare("acme/widget"), "rev-parse", branch), next);
  assert.equal(github.pullRequests.filter((each) => each.head === branch).length, 1);
});

test("no pull request is a reason, and the push stands", async () => {
  const unwanted = openHost();
  const before = github.requests.length;
  const quiet = await unwanted.push({ pullRequest: null });
  assert.deepEqual([quiet.pullRequestUrl, quiet.pullRequestError], [null, "not_requested"]);
  assert.ok(quiet.compareUrl?.includes(unwanted.branch));
  assert.ok(github.requests.slice(before).every((each) => !each.includes("/pulls")));

  // Git gets in with a helper of the user's own; the client is logged out, or not there.
  const helper = `[credential]\n\thelper = "!f() { echo username=ada; echo password=${token}; }; f"\n`;
  const loggedOut = openHost({ gitSettings: helper });
  assert.equal((await loggedOut.push()).pullRequestError, "not_logged_in");
  const bin = join(place, "only-git");
  mkdirSync(bin);
  for (const name of ["git", "sh", "ssh"]) {
    const path = execFileSync("which", [name], { encoding: "utf8" }).trim();
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${path} "$@"\n`, { mode: 0o755 });
  }
  const without = openHost({ gitSettings: helper }, { PATH: bin });
  const { pullRequestError, compareUrl } = await without.push();
  assert.equal(pullRequestError, "cli_not_installed");
  assert.ok(compareUrl);
  for (const { tip, branch } of [unwanted, loggedOut, without]) {
    assert.equal(git(bare("acme/widget"), "rev-parse", branch), tip);
  }

  const same = openHost();
  git(same.directory, "reset", "--quiet", "--hard", "HEAD~1");
  const nothing = await same.push();
  assert.match(nothing.pullRequestError ?? "", /^GitHub refused: No commits between main and haw/);
});

test("a server that the client does not know gets commits, and no request of the client's", async () => {
  const origin = `ssh://git@127.0.0.1:${ssh.port}/acme/widget.git`;
  const { push, tip, branch } = openHost({ token }, { GH_ENTERPRISE_TOKEN: "ghe_notForEveryone" });
  const pushed = await push({ origin });
  assert.deepEqual(
    [pushed.pullRequestUrl, pushed.pullRequestError, pushed.compareUrl],
    [null, "not_a_hosting_provider", null],
  );
  assert.equal(git(bare("acme/widget"), "rev-parse", branch), tip);
  // By its ssh name it is GitHub again.
  const again = await push({ origin: "git@github.com:acme/widget.git" });
  assert.match(again.pullRequestUrl ?? "", /^https:\/\/github\.com\/acme\/widget\/pull\//);
});

test("an enterprise's server is one when the client is logged in there", async () => {
  const { push, branch } = openHost({ token, host: enterpriseHost });
  const origin = `https://${enterpriseHost}/acme/widget.git`;
  const pushed = await push({ origin });
  assert.equal(pushed.pullRequestError, null);
  assert.match(pushed.pullRequestUrl ?? "", new RegExp(`^https://${enterpriseHost}/acme/widget/`));
  assert.ok(pushed.compareUrl?.startsWith(`https://${enterpriseHost}/`));
  assert.ok(pushed.compareUrl?.includes(branch));
});

test("what a repository says of remotes, hooks and helpers leads nowhere (T7)", async () => {
  const marker = join(place, "marker");
  const evil = join(place, "evil");
  writeFileSync(evil, `#!/bin/sh\necho "$0 $*" >> ${marker}\n`);
  chmodSync(evil, 0o755);
  const elsewhere = "https://github.com/acme/elsewhere.git";
  const ways: [string, (directory: string) => void][] = [
    ["pushurl", (at) => git(at, "config", "remote.origin.pushurl", elsewhere)],
    ["url", (at) => git(at, "config", "remote.origin.url", elsewhere)],
    [
      "a remote called like the address",
      (at) => git(at, "config", `remote.${widget}.url`, elsewhere),
    ],
    ["receivepack", (at) => git(at, "config", "remote.origin.receivepack", evil)],
    ["a helper", (at) => git(at, "config", "credential.helper", `!${evil}`)],
    ["pushDefault", (at) => git(at, "config", "remote.pushDefault", "elsewhere")],
    ["an order to the server", (at) => git(at, "config", "push.pushOption", "repo.private=false")],
    [
      "tags",
      (at) => (git(at, "tag", "-a", "-m", "x", "v1"), git(at, "config", "push.followTags", "true")),
    ],
    [
      "hooks",
      (at) => {
        const hook = join(at, ".git", "hooks", "pre-push");
        mkdirSync(join(hook, ".."), { recursive: true });
        writeFileSync(hook, `#!/bin/sh\n${evil}\n`, { mode: 0o755 });
      },
    ],
  ];
  const ordered = join(place, "ordered");
  const server = bare("acme/widget");
  git(server, "config", "receive.advertisePushOptions", "true");
  const orders = `#!/bin/sh\n[ "\${GIT_PUSH_OPTION_COUNT:-0}" = 0 ] || touch ${ordered}\n`;
  writeFileSync(join(server, "hooks", "pre-receive"), orders, { mode: 0o755 });
  const before = branchesAt("acme/elsewhere");
  for (const [name, plant] of ways) {
    const { directory, push, branch, tip } = openHost();
    git(directory, "remote", "add", "origin", widget);
    plant(directory);
    await push({ pullRequest: null });
    assert.equal(git(bare("acme/widget"), "rev-parse", branch), tip, name);
    assert.equal(branchesAt("acme/elsewhere"), before, name);
  }
  assert.equal(git(bare("acme/widget"), "tag", "--list"), "");
  assert.equal(existsSync(ordered), false);
  for (const name of [`url.${elsewhere}.insteadOf`, `url.${elsewhere}.pushInsteadOf`]) {
    const { directory, push } = openHost();
    git(directory, "config", name, widget);
    const { code, message } = await refusal(push());
    assert.equal(code, "unsafe_repository");
    assert.match(message, /^The repository of the session sets url\./);
  }
  assert.equal(branchesAt("acme/elsewhere"), before);
  assert.equal(existsSync(marker), false);
});

test("an existing branch is not overwritten, and git's reason is reported", async () => {
  const { directory, push, branch } = openHost();
  await push();
  git(directory, "commit", "--quiet", "--amend", "--message=another");
  assert.match((await refusal(push())).message, /non-fast-forward: hawser\/test-\d+ on origin has/);
  const protect = createBareRepository(github.directory, "acme/guarded");
  const hook = join(protect, "hooks", "pre-receive");
  writeFileSync(hook, "#!/bin/sh\necho inner workings; exit 1\n", { mode: 0o755 });
  const origin = `ssh://git@127.0.0.1:${ssh.port}/acme/guarded.git`;
  const { message } = await refusal(push({ origin }));
  assert.equal(message, "The server refused the push: pre-receive hook declined.");
  const stranger = openHost({ path: [ssh.strangerDirectory] });
  assert.match((await refusal(stranger.push({ origin }))).message, /did not let this host in/);
  const file = await refusal(push({ origin: bare("acme/elsewhere"), branch }));
  assert.match(file.message, /neither https nor ssh/);
  assert.match(file.message, /when the session began.*by hand.*or change.*start another session/);
  const empty = join(place, "empty");
  mkdirSync(empty);
  git(empty, "init", "--quiet");
  assert.match((await refusal(push({ directory: empty }))).message, /no commit to push/);
});

/** Gives up after 30 seconds; what the test expects is then missing. */
async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 600 && !isSo(); tries++) await sleep(50);
}

test("a push that is repeated while it runs is not begun again, and both get its outcome", async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket.on("error", () => {})));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  try {
    const { push } = openHost();
    const origin = `ssh://git@127.0.0.1:${(silent.address() as AddressInfo).port}/x.git`;
    const work = [push({ origin }), push({ origin })].map(refusal);
    await until(() => sockets.length > 0);
    work.push(refusal(push({ origin })));
    await sleep(1_500);
    assert.equal(sockets.length, 1);
    for (const socket of sockets) socket.destroy();
    const codes = (await Promise.all(work)).map(({ code }) => code);
    assert.deepEqual(codes, ["push_failed", "push_failed", "push_failed"]);
    // The next one is a push of its own.
    const next = refusal(push({ origin }));
    await until(() => sockets.length > 1);
    sockets.at(-1)!.destroy();
    await next;
  } finally {
    silent.close();
  }
});

test("a push with another wish, or with a later commit, waits for the running one", async () => {
  const repository = createBareRepository(github.directory, "acme/slow");
  const hook = join(repository, "hooks", "pre-receive");
  const lines = join(place, "slow.txt");
  const script = `#!/bin/sh\necho begin >> ${lines}; sleep 1; echo end >> ${lines}\n`;
  writeFileSync(hook, script, { mode: 0o755 });
  const origin = `ssh://git@127.0.0.1:${ssh.port}/acme/slow.git`;
  const { push, directory, branch } = openHost();
  const first = push({ origin, pullRequest: null });
  await until(() => existsSync(lines));
  const tip = commit(directory, "later.txt");
  const others = [push({ origin, pullRequest: null }), push({ origin })];
  const errors = [(await first).pullRequestError];
  for (const { pullRequestError } of await Promise.all(others)) errors.push(pullRequestError);
  assert.deepEqual(errors, ["not_requested", "not_requested", "not_a_hosting_provider"]);
  assert.equal(git(repository, "rev-parse", branch), tip);
  assert.equal(readFileSync(lines, "utf8"), "begin\nend\n".repeat(2), "one after the other");
});

test("credentials in an address are used and never shown (T10)", async () => {
  const { push, branch, tip, directory, pushes } = openHost({});
  const secret = token;
  const origin = `https://ada:${secret}@github.com/acme/widget.git`;
  git(directory, "remote", "add", "origin", origin);
  assert.equal(await pushes.readOrigin(directory, signal), origin);
  const pushed = await push({ origin });
  assert.equal(git(bare("acme/widget"), "rev-parse", branch), tip);
  assert.equal(pushed.pullRequestError, "not_logged_in");
  assert.ok(!JSON.stringify(pushed).includes(secret));
  github.fail(500);
  const { message } = await refusal(push({ origin, branch: `${branch}-2` }));
  github.fail(undefined);
  assert.ok(!message.includes(secret) && !message.includes("inner workings"), message);
  const said = ` ! [remote rejected] x -> y (see https://ada:${secret}@h/x)\n`;
  assert.ok(!explainPushFailure(said, branch).includes(secret));
});

test("the address says which repository of which server it is", () => {
  const acme = { host: "github.com", owner: "acme", name: "widget" };
  for (const address of [
    widget,
    "https://github.com/acme/widget",
    "https://ada:x@GitHub.com/acme/widget/",
    "git@github.com:acme/widget.git",
    "ssh://git@github.com/acme/widget.git",
    "ssh://git@ssh.github.com:443/acme/widget.git",
  ]) {
    assert.deepEqual(readHostedAddress(address), acme, address);
  }
  for (const address of [
    "/srv/widget.git",
    "https://h/a/b/c",
    "https://h:8443/a/b",
    "https://h/a/..",
    "x",
  ]) {
    assert.equal(readHostedAddress(address), undefined, address);
  }
});
