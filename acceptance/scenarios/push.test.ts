// Pushing the work of sessions of real agents, with real git over https and ssh and the real `gh` against a
// stand-in for GitHub: commits and nothing else, to the origin that a session began with.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before } from "node:test";
import { writeCodexHome } from "@hawser/testkit/codex-home.ts";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { makeGithubHome, type GithubHome } from "@hawser/testkit/github-home.ts";
import { startGithub, type Github } from "@hawser/testkit/github.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import { writeOpencodeHome } from "@hawser/testkit/opencode-home.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { startSshServer, type SshServer } from "@hawser/testkit/ssh-server.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";
import { logOf, runTurn, scripted, startSession, worktreeOf } from "../session-steps.ts";

useWorld({ agents: ["opencode", "codex"], nats: 1 });

const token = "gho_pushesOfAda";
const place = mkdtempSync(join(tmpdir(), "hawser-push-"));
let github: Github;
let ssh: SshServer;

before(async () => {
  github = await startGithub({
    token,
    repositories: [{ name: "acme/widget" }, { name: "acme/other" }],
  });
  ssh = await startSshServer({ directory: github.directory });
});

after(async () => {
  await ssh?.[Symbol.asyncDispose]();
  await github?.[Symbol.asyncDispose]();
  removeDirectory(place);
});

const widget = "https://github.com/acme/widget.git";
const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8", stdio: "pipe" }).trim();
const atOrigin = (branch: string, name = "acme/widget") =>
  git(join(github.directory, `${name}.git`), "rev-parse", `refs/heads/${branch}`);

/** The agent of hosts that run no turn: it starts in a tenth of opencode's processor time. */
const agentKind = "codex";

let homes = 0;
/** A host whose project is a clone of the hosted repository. */
async function addHost(
  { world }: Context,
  home: GithubHome = { token },
  origin = widget,
  own: Record<string, string> = {},
) {
  const directory = join(place, `home-${++homes}`);
  const path = [ssh.clientDirectory];
  const environment = makeGithubHome(github, directory, { path, ...home });
  writeOpencodeHome(directory, world.model!.url);
  writeCodexHome(join(directory, ".codex"), world.model!.url);
  const host = await world.addHost({ environment: { ...environment, ...own } });
  git(host.repository, "fetch", "--quiet", join(github.directory, "acme/widget.git"), "main");
  git(host.repository, "reset", "--quiet", "--hard", "FETCH_HEAD");
  git(host.repository, "remote", "add", "origin", origin);
  return host;
}
let shared: Promise<TestHost> | undefined;
const sharedHost = (context: Context) => (shared ??= addHost(context));

/** A search path with every program of this machine's but the client. */
function withoutGh(): Record<string, string> {
  const directory = mkdtempSync(join(place, "programs-"));
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    if (!existsSync(folder)) continue;
    for (const name of readdirSync(folder)) {
      const link = join(directory, name);
      const isThere = lstatSync(link, { throwIfNoEntry: false }) !== undefined;
      if (name !== "gh" && !isThere) symlinkSync(join(folder, name), link);
    }
  }
  return { PATH: directory };
}

function commit(directory: string, name: string): string {
  writeFileSync(join(directory, name), `${name}\n`);
  git(directory, "add", name);
  git(directory, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", name);
  return git(directory, "rev-parse", "HEAD");
}

scenario(
  "Committed work of an agent is pushed to origin, and a pull request is opened",
  [
    "push_session.pushes",
    "push_session.branch",
    "push_session.pullRequestUrl",
    "push_session.openPr.default",
    "push_session.title.default",
    "push_session.uncommittedChanges",
    "push_session.compareUrl",
  ],
  async (context) => {
    const { caller } = context;
    const host = await sharedHost(context);
    const title = "Describe the widget";
    const { sessionId, worktreeBranch } = await startSession(caller, host, { title });
    const tree = worktreeOf(host, worktreeBranch!);
    const write = { tool: "write", input: { filePath: join(tree, "made.txt"), content: "made\n" } };
    await runTurn(caller, sessionId, scripted("write", { calls: [write] }, { text: "done" }));
    const tip = commit(tree, "made.txt");
    writeFileSync(join(tree, "README.md"), "changed\n");
    writeFileSync(join(tree, "untracked.txt"), "new\n");
    const before = git(tree, "status", "--porcelain");
    const state = await caller.get_session_git({ sessionId });
    assert.deepEqual(
      [state.branch, state.base, state.live, state.pullRequestUrl],
      [
        worktreeBranch,
        { branch: "main", commit: git(tree, "rev-parse", "HEAD~1"), behind: 0 },
        true,
        null,
      ],
    );
    assert.deepEqual([state.commits, state.unpushedCommits, state.uncommittedFiles], [1, 1, 2]);
    const pushed = await caller.push_session({ sessionId });
    assert.deepEqual(pushed, {
      sessionId,
      branch: worktreeBranch,
      uncommittedChanges: 2,
      pullRequestUrl: "https://github.com/acme/widget/pull/1",
      pullRequestError: null,
      pullRequestMessage: null,
      compareUrl: `https://github.com/acme/widget/compare/${worktreeBranch}?expand=1`,
    });
    assert.equal(atOrigin(worktreeBranch!), tip);
    assert.equal(git(tree, "status", "--porcelain"), before);
    const after = await caller.get_session_git({ sessionId });
    assert.deepEqual([after.commits, after.unpushedCommits, after.uncommittedFiles], [1, 0, 2]);
    assert.equal(after.pullRequestUrl, pushed.pullRequestUrl);
    const made = github.pullRequests[0]!;
    assert.deepEqual([made.title, made.head, made.base], [title, worktreeBranch, "main"]);
    assert.ok(made.body.includes(sessionId) && made.body.includes("opencode"));

    const again = await caller.push_session({ sessionId, title: "Another", body: "More" });
    assert.deepEqual(again, pushed);
    assert.equal(github.pullRequests.length, 1);

    const other = await startSession(caller, host, { title: "without one" });
    commit(worktreeOf(host, other.worktreeBranch!), "other.txt");
    const quiet = await caller.push_session({ sessionId: other.sessionId, openPr: false });
    assert.deepEqual([quiet.pullRequestUrl, quiet.pullRequestError], [null, "not_requested"]);
    assert.equal(github.pullRequests.length, 1);
    assert.ok(quiet.compareUrl?.includes(other.worktreeBranch!));
    const own = { sessionId: other.sessionId, title: "Mine", body: "My words" };
    await caller.push_session(own);
    const { title: given, body } = github.pullRequests[1]!;
    assert.deepEqual([given, body], ["Mine", "My words"]);
  },
);

scenario(
  "A push without a pull request succeeds, and says why there is none",
  ["push_session.pullRequestError", "push_session.compareUrl"],
  async (context) => {
    const { caller } = context;
    const helper = `[credential]\n\thelper = "!f() { echo username=ada; echo password=${token}; }; f"\n`;
    const loggedOut = await addHost(context, { gitSettings: helper });
    const one = await startSession(caller, loggedOut, { agentKind });
    const tip = commit(worktreeOf(loggedOut, one.worktreeBranch!), "one.txt");
    const pushed = await caller.push_session({ sessionId: one.sessionId });
    assert.deepEqual([pushed.pullRequestUrl, pushed.pullRequestError], [null, "not_logged_in"]);
    assert.ok(pushed.compareUrl?.startsWith("https://github.com/acme/widget/compare/"));
    assert.equal(atOrigin(pushed.branch), tip);

    const clientless = await addHost(context, { gitSettings: helper }, widget, withoutGh());
    const none = await startSession(caller, clientless, { agentKind });
    const other = commit(worktreeOf(clientless, none.worktreeBranch!), "none.txt");
    const missing = await caller.push_session({ sessionId: none.sessionId });
    assert.equal(missing.pullRequestUrl, null);
    assert.equal(missing.pullRequestError, "cli_not_installed");
    assert.match(missing.pullRequestMessage ?? "", /Install gh/);
    assert.equal(atOrigin(missing.branch), other);

    const nothing = await startSession(caller, await sharedHost(context));
    const refused = await caller.push_session({ sessionId: nothing.sessionId });
    assert.equal(refused.pullRequestError, "provider_refused");
    assert.match(
      refused.pullRequestMessage ?? "",
      /^GitHub refused: No commits between main and hawser\//,
    );

    const plainOrigin = `ssh://git@127.0.0.1:${ssh.port}/acme/widget.git`;
    const plain = await addHost(context, { token }, plainOrigin);
    const two = await startSession(caller, plain, { agentKind });
    commit(worktreeOf(plain, two.worktreeBranch!), "two.txt");
    const there = await caller.push_session({ sessionId: two.sessionId });
    assert.deepEqual(
      [there.pullRequestUrl, there.pullRequestError, there.compareUrl],
      [null, "not_a_hosting_provider", null],
    );
  },
);

scenario(
  "A session without its own branch gets one at origin, and the user's branch is unchanged",
  ["push_session.pushes"],
  async (context) => {
    const { caller } = context;
    const host = await sharedHost(context);
    const main = atOrigin("main");
    const input = { useWorktree: false, title: "In place" };
    const { sessionId } = await startSession(caller, host, input);
    const tip = commit(host.repository, "in-place.txt");
    const { branch } = await caller.push_session({ sessionId });
    assert.match(branch, /^hawser\/in-place-[a-z0-9]{10}$/);
    assert.deepEqual([atOrigin(branch), atOrigin("main")], [tip, main]);
    assert.equal(git(host.repository, "branch", "--show-current"), "main");
    await caller.rename_session({ sessionId, title: "Another name" });
    assert.equal((await caller.push_session({ sessionId })).branch, branch);
  },
);

scenario(
  "A push that is not possible is refused with the reason, and nothing at origin is overwritten",
  [],
  async (context) => {
    const { caller } = context;
    const host = await sharedHost(context);
    const { sessionId, worktreeBranch } = await startSession(caller, host);
    const tree = worktreeOf(host, worktreeBranch!);
    const tip = commit(tree, "first.txt");
    await caller.push_session({ sessionId, openPr: false });
    git(
      tree,
      "-c",
      "user.name=a",
      "-c",
      "user.email=a@b",
      "commit",
      "-q",
      "--amend",
      "-m",
      "other",
    );
    const again = await caller.try("push_session", { sessionId });
    assert.match(assertRefused(again, 409, "host_refused").message, /non-fast-forward/);
    assert.equal(atOrigin(worktreeBranch!), tip);
    await caller.end_session({ sessionId });
    assertRefused(await caller.try("push_session", { sessionId }), 409, "session_ended");

    const folder = await startSession(caller, host, { directory: host.root });
    const plain = await caller.try("push_session", { sessionId: folder.sessionId });
    assertRefused(plain, 409, "not_a_repository");
  },
);

scenario(
  "An agent that rewrites the repository's settings cannot redirect a push (T7)",
  [],
  async (context) => {
    const { caller } = context;
    const host = await addHost(context);
    const marker = join(place, "marker");
    const other = "https://github.com/acme/other.git";
    const start = async () => {
      const session = await startSession(caller, host, { agentKind });
      return { ...session, tip: commit(worktreeOf(host, session.worktreeBranch!), "work.txt") };
    };
    const [one, two] = [await start(), await start()];
    for (const [name, value] of [
      ["remote.origin.url", other],
      ["remote.origin.pushurl", other],
      [`remote.${widget}.url`, other],
      ["remote.origin.receivepack", `touch ${marker}`],
      ["credential.helper", `!touch ${marker}`],
      ["core.hooksPath", place],
    ]) {
      git(host.repository, "config", name!, value!);
    }
    writeFileSync(join(place, "pre-push"), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
    await caller.push_session({ sessionId: one.sessionId });
    assert.equal(atOrigin(one.worktreeBranch!), one.tip);
    git(host.repository, "config", `url.${other}.insteadOf`, widget);
    const reply = await caller.try("push_session", { sessionId: two.sessionId });
    assert.match(assertRefused(reply, 409, "host_refused").message, /sets url\./);
    const branches = git(join(github.directory, "acme/other.git"), "branch", "--list", "hawser/*");
    assert.equal(branches, "");
    assert.throws(() => execFileSync("stat", [marker], { stdio: "ignore" }));
  },
);

scenario(
  "No token is in a result, a log, an event, the database or a pull request (T10, T31)",
  [],
  async (context) => {
    const { caller, world } = context;
    const secret = token;
    const host = await addHost(context, {}, `https://ada:${secret}@github.com/acme/widget.git`);
    const { sessionId, worktreeBranch } = await startSession(caller, host, { agentKind });
    const tip = commit(worktreeOf(host, worktreeBranch!), "secret.txt");
    const pushed = await caller.push_session({ sessionId });
    assert.equal(atOrigin(worktreeBranch!), tip);
    github.fail(500);
    commit(worktreeOf(host, worktreeBranch!), "later.txt");
    const failed = await caller.try("push_session", { sessionId });
    github.fail(undefined);
    assertRefused(failed, 409, "host_refused");
    const texts = [
      pushed,
      failed.text,
      await logOf(caller, sessionId),
      await caller.get_session_summary({ sessionId }),
      await caller.list_directories({ instanceId: host.instanceId }),
      host.log,
      (await sharedHost(context)).log,
      world.nodes.map(({ log }) => log),
      github.pullRequests,
      await dumpDatabase(world.database.url),
    ].map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
    for (const text of texts) {
      assert.ok(!text.includes(secret));
      assert.ok(!text.includes("inner workings"));
    }
  },
);
