// Sessions of the real opencode in their own clones, made by real git over https and the real `gh`. A clone
// is complete or removed, whoever waits for it. Such a session can be reverted, and is parked at its end, so
// that another session can continue there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkoutsOf, git, untilReceiving, useGithub } from "../clone-steps.ts";
import { tellTimes } from "../figures.ts";
import { assertInvalid, assertRefused, resultOf } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  untilEnd,
  untilLogged,
  updatesOf,
  startPlaced,
} from "../session-steps.ts";

useWorld({ agents: true, nats: 1 });

const token = "gho_cloneSessions";
const hosting = useGithub(token, [
  { name: "acme/widget" },
  { name: "acme/secret", private: true },
  { name: "acme/large", bytes: 4_000_000 },
  { name: "acme/empty", empty: true },
]);
const { addHost, sharedHost } = hosting;

scenario(
  "A session works directly in a fresh clone, by gh or by its address, and can push from it",
  [
    "start_session.clone.checkout",
    "start_session.clone.repo",
    "start_session.clone.url",
    "start_session.clone.name",
  ],
  async (context) => {
    const { caller } = context;
    const host = await sharedHost(context);
    const { instanceId } = host;
    const session = await startPlaced(caller, {
      instanceId,
      title: "In a clone",
      useWorktree: true,
      clone: { repo: "acme/secret", name: "my copy" },
    });
    const { sessionId, directory, worktreeBranch, status } = session;
    assert.deepEqual([worktreeBranch, status], [null, "active"]);
    assert.equal(directory, join(host.stateDirectory, "checkouts", sessionId, "my copy"));
    assert.equal(git(directory, "worktree", "list").split("\n").length, 1);
    assert.equal(git(directory, "branch", "--show-current"), "main");
    const write = { tool: "write", input: { filePath: join(directory, "a.txt"), content: "a\n" } };
    const turn = scripted("write", { calls: [write] }, { text: "done" });
    const events = await runTurn(caller, sessionId, turn);
    assert.equal(outcomeOf(events), "completed");
    assert.ok(existsSync(join(directory, "a.txt")), "the agent works there");

    git(directory, "add", ".");
    git(directory, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "made");
    const pushed = await caller.push_session({ sessionId });
    assert.match(pushed.branch, /^hawser\/in-a-clone-[a-z0-9]{10}$/);
    assert.match(pushed.pullRequestUrl ?? "", /^https:\/\/github\.com\/acme\/secret\/pull\//);
    const bare = join(hosting.github().directory, "acme/secret.git");
    assert.equal(git(bare, "rev-parse", pushed.branch), git(directory, "rev-parse", "HEAD"));

    const url = "https://github.com/acme/widget.git";
    const other = await startPlaced(caller, { instanceId, clone: { url } });
    assert.ok(other.directory?.endsWith(`${other.sessionId}/widget`));
    for (const odd of [{ repo: 7 }, { url: 7 }, { repo: "acme/widget", name: 7 }]) {
      const reply = await caller.try("start_session", { instanceId, clone: odd });
      assertInvalid(reply, `clone.${Object.keys(odd).at(-1)}`);
    }
    const { operations } = await caller.refresh_instance({ instanceId });
    const clone = operations.find(({ subject }) => subject.includes(other.sessionId));
    assert.deepEqual([clone?.type, clone?.state], ["clone_repository", "done"]);
    assert.ok(!JSON.stringify(host.log).includes(token));

    writeFileSync(join(directory, "left.txt"), "not committed\n");
    assert.equal((await caller.end_session({ sessionId })).status, "ended");
    assert.equal(existsSync(directory), false);
    const parked = join(host.stateDirectory, "parked", sessionId, "tree", "my copy");
    assert.ok(existsSync(join(parked, "left.txt")), "the way back is on the host");
  },
);

scenario(
  "A session in its own clone is reverted, ended and restored as it was, and pushes to the same pull request",
  ["revert_session.undoes", "start_session.clone.checkout"],
  async (context) => {
    const { caller } = context;
    const host = await addHost(context);
    const { instanceId } = host;
    const title = "Back and forth";
    const clone = { repo: "acme/secret" };
    const one = await startPlaced(caller, { instanceId, title, clone });
    const place = one.directory!;
    assert.ok(one.capabilities.includes("revert") && one.capabilities.includes("diff"));
    const writes = (name: string, content: string) =>
      scripted(
        name,
        { calls: [{ tool: "write", input: { filePath: join(place, name), content } }] },
        { text: `wrote ${name}` },
      );
    const give = async (sessionId: string, text: string) => {
      const { turnId, messageId } = await caller.send_prompt({ sessionId, text });
      const events = await untilEnd(caller, sessionId, turnId);
      assert.equal(outcomeOf(events), "completed");
      return { messageId, events };
    };
    await give(one.sessionId, writes("first.txt", "first\n"));
    git(place, "checkout", "--quiet", "-b", "side");
    git(place, "add", ".");
    git(place, "commit", "--quiet", "--message=first");
    const tip = git(place, "rev-parse", "HEAD");
    const { messageId } = await give(one.sessionId, writes("second.txt", "second\n"));
    git(place, "add", ".");
    git(place, "commit", "--quiet", "--message=second");
    git(place, "checkout", "--quiet", "main");
    await caller.revert_session({ sessionId: one.sessionId, messageId });
    await untilLogged(caller, one.sessionId, "session_reverted");
    assert.equal(existsSync(join(place, "second.txt")), false);
    assert.equal(readFileSync(join(place, "first.txt"), "utf8"), "first\n");
    assert.deepEqual(
      [git(place, "rev-parse", "HEAD"), git(place, "branch", "--show-current")],
      [tip, "side"],
    );
    const pushed = await caller.push_session({ sessionId: one.sessionId });
    assert.match(pushed.pullRequestUrl ?? "", /^https:\/\/github\.com\/acme\/secret\/pull\//);

    git(place, "commit", "--quiet", "--allow-empty", "--message=unpushed");
    const unpushed = git(place, "rev-parse", "HEAD");
    writeFileSync(join(place, "stashed.txt"), "stashed\n");
    git(place, "stash", "--include-untracked");
    writeFileSync(join(place, "staged.txt"), "staged\n");
    git(place, "add", "staged.txt");
    writeFileSync(join(place, "left.txt"), "untracked\n");
    const now = () => [
      git(place, "status", "--porcelain", "--branch"),
      git(place, "for-each-ref", "refs/heads", "refs/remotes", "refs/stash"),
      git(place, "stash", "show", "--include-untracked", "--name-only"),
    ];
    const was = now();
    assert.equal((await caller.end_session({ sessionId: one.sessionId })).status, "ended");
    assert.deepEqual([existsSync(place), checkoutsOf(host)], [false, []]);
    const { parkedSessions } = await caller.list_parked_sessions({ instanceId });
    assert.deepEqual(
      parkedSessions.map(({ sessionId, title: told, branch }) => [sessionId, told, branch]),
      [[one.sessionId, title, null]],
    );
    const two = await caller.restore_session({ sessionId: one.sessionId });
    assert.deepEqual(
      [two.directory, two.title, two.worktreeBranch, two.status, two.capabilities],
      [place, title, null, "active", one.capabilities],
    );
    assert.deepEqual(now(), was);
    assert.equal(git(place, "rev-parse", "HEAD"), unpushed);
    const { events } = await give(two.sessionId, writes("third.txt", "third\n"));
    assert.deepEqual(saidIn(events), ["wrote third.txt"]);
    const again = await caller.push_session({ sessionId: two.sessionId });
    assert.deepEqual([again.branch, again.pullRequestUrl], [pushed.branch, pushed.pullRequestUrl]);
    const bare = join(hosting.github().directory, "acme/secret.git");
    assert.equal(git(bare, "rev-parse", pushed.branch), unpushed);
    const taken = await caller.try("restore_session", { sessionId: one.sessionId });
    assertRefused(taken, 404, "not_found");

    // As long as nothing was committed there is nothing to compare with.
    const empty = await startPlaced(caller, { instanceId, clone: { repo: "acme/empty" } });
    assert.ok(empty.capabilities.includes("revert") && !empty.capabilities.includes("diff"));
  },
);

scenario(
  "Files that an agent would run without asking are not checked out of a clone",
  [],
  async (context) => {
    const { caller } = context;
    const { instanceId } = await sharedHost(context);
    const work = join(hosting.place, "work");
    execFileSync("git", ["clone", "-q", join(hosting.github().directory, "acme/widget.git"), work]);
    writeFileSync(join(work, "opencode.json"), "{}");
    git(work, "add", ".");
    git(work, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "configured");
    git(work, "push", "-q", "origin", "HEAD:main");
    const clone = { repo: "acme/widget" };
    const { sessionId, directory } = await startPlaced(caller, { instanceId, clone });
    assert.equal(existsSync(join(directory!, "opencode.json")), false);
    assert.equal(git(directory!, "status", "--porcelain"), "");
    const ignored = await until(
      "the ignored configuration",
      10_000,
      async () => updatesOf(await logOf(caller, sessionId), "config_ignored"),
      (found) => found.length > 0,
    );
    assert.deepEqual(ignored[0]!.paths, ["opencode.json"]);
  },
);

scenario(
  "A clone that fails, or would be unsafe, leaves no session and nothing on the host",
  [],
  async (context) => {
    const { caller } = context;
    const host = await sharedHost(context);
    const { instanceId } = host;
    const before = checkoutsOf(host);
    const { sessions } = await caller.list_sessions({ instanceId, limit: 200 });
    for (const clone of [
      { repo: "acme/nothing" },
      { url: "https://github.com/acme/nothing.git" },
    ]) {
      const reply = await caller.try("start_session", { instanceId, clone });
      assertRefused(reply, 409, "host_refused");
    }
    for (const url of ["https://a:b@h/x", "ext::sh -c x", "--upload-pack=x", "file:///etc"]) {
      const reply = await caller.try("start_session", { instanceId, clone: { url } });
      assertInvalid(reply, "clone.url", url);
    }
    assert.deepEqual(checkoutsOf(host), before);
    const after = await caller.list_sessions({ instanceId, limit: 200 });
    assert.equal(after.sessions.length, sessions.length);
  },
);

scenario(
  "A long clone shows its progress, and its session exists once it is done, even if the caller did not wait",
  [],
  async (context) => {
    const { caller } = context;
    const host = await addHost(context);
    const { instanceId } = host;
    const body = { instanceId, clone: { repo: "acme/large" } };
    const key = { "idempotency-key": randomUUID() };
    hosting.github().hold(true);
    const started = performance.now();
    const asking = caller.try("start_session", body, key);
    const { sessionId, directory, status } = await untilReceiving(context, host);
    assert.deepEqual([directory, status], [null, "active"]);
    tellTimes("a session's clone is shown as an operation", [performance.now() - started]);
    const { live } = await caller.get_session_summary({ sessionId });
    assert.equal(live?.status, "starting");
    const waited = await caller.wait_for_session({ sessionId, timeoutSeconds: 1 });
    assert.equal(waited.activity, "starting");
    const begun = resultOf(await asking);
    assert.deepEqual([begun["sessionId"], begun["directory"]], [sessionId, null]);
    const still = await caller.get_session_summary({ sessionId });
    assert.deepEqual([still.status, still.directory], ["active", null]);
    hosting.github().hold(false);
    const { directory: made } = await until(
      "the clone is done",
      20_000,
      () => caller.get_session_summary({ sessionId }),
      (record) => record.directory !== null,
    );
    assert.ok(existsSync(join(made!, "noise")));
    assert.equal(resultOf(await caller.try("start_session", body, key))["sessionId"], sessionId);
    const events = await runTurn(caller, sessionId, scripted("hi", { text: "hello" }));
    assert.equal(outcomeOf(events), "completed");
  },
);
