// The files of sessions of the real opencode: what they changed, going back to a message, whose name
// their commits carry, and the way back to a session that has ended.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { changedLines } from "@hawser/testkit/changed-lines.ts";
import type { Caller } from "@hawser/testkit/caller.ts";
import { untilStatus } from "@hawser/testkit/host.ts";
import { opencodeEdits } from "../opencode-server.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  slowly,
  startSession,
  untilEnd,
  untilLogged,
  updatesOf,
  worktreeOf,
  type Step,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8" }).trim();

/** A step in which the agent writes a file by its own tool. */
const writes = (filePath: string, content: string): Step => ({
  calls: [{ tool: "write", input: { filePath, content } }],
});

async function promptTo(caller: Caller, sessionId: string, ...steps: Step[]): Promise<string> {
  const text = scripted("go", ...steps, { text: "Done." });
  const { turnId, messageId } = await caller.send_prompt({ sessionId, text });
  assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "completed");
  return messageId;
}

scenario(
  "A session's changes are listed with their lines, and each file's patch can be read",
  ["get_session_diff.result", "get_session_diff.opencode"],
  async ({ world, caller }) => {
    const host = await world.addHost();
    const [edited] = git(host.repository, "ls-files").split("\n");
    const before = readFileSync(join(host.repository, edited!), "utf8");
    writeFileSync(join(host.repository, "four.txt"), "1\n2\n3\n4\n");
    git(host.repository, "add", "four.txt");
    git(host.repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "four");
    const { sessionId, worktreeBranch, capabilities } = await startSession(caller, host);
    assert.ok(capabilities.includes("diff"));
    const place = worktreeOf(host, worktreeBranch!);
    assert.deepEqual((await caller.get_session_diff({ sessionId })).files, []);
    const filePath = join(place, edited!);
    const line = before.split("\n").find((each) => each.length > 0)!;
    await promptTo(
      caller,
      sessionId,
      { calls: [{ tool: "read", input: { filePath } }] },
      {
        calls: [
          {
            tool: "edit",
            input: { filePath, oldString: line, newString: `${line}\none\ntwo` },
          },
        ],
      },
      { calls: [{ tool: "read", input: { filePath: join(place, "four.txt") } }] },
      {
        calls: [
          {
            tool: "edit",
            input: {
              filePath: join(place, "four.txt"),
              oldString: "1\n2\n3\n",
              newString: "one\n",
            },
          },
        ],
      },
      writes(join(place, "new.txt"), "a\nb\nc\n"),
    );
    const figures = async () =>
      changedLines((await caller.get_session_diff({ sessionId })).files).filter(
        ({ path }) => path !== "new.txt",
      );
    const byPath = (one: { path: string }, other: { path: string }) =>
      one.path < other.path ? -1 : 1;
    const edits = await opencodeEdits(host, place);
    assert.deepEqual(edits.toSorted(byPath), (await figures()).toSorted(byPath));
    assert.equal(edits.length, 2);
    writeFileSync(join(place, "picture.bin"), Buffer.from([0, 1, 2]));
    const answer = await caller.get_session_diff({ sessionId });
    assert.deepEqual([answer.live, answer.truncated], [true, false]);
    const wanted = [
      { path: edited!, added: 2, removed: 0 },
      { path: "four.txt", added: 1, removed: 3 },
      { path: "new.txt", added: 3, removed: 0 },
      { path: "picture.bin", added: 0, removed: 0 },
    ];
    assert.deepEqual(changedLines(answer.files).toSorted(byPath), wanted.toSorted(byPath));
    const kinds = answer.files.map(({ path, status, isBinary }) => [path, [status, isBinary]]);
    assert.deepEqual(Object.fromEntries(kinds), {
      [edited!]: ["modified", false],
      "four.txt": ["modified", false],
      "new.txt": ["added", false],
      "picture.bin": ["added", true],
    });
    // The same as the agent's own figures for its edit, which its call tells in the log.
    const told = updatesOf(await logOf(caller, sessionId), "tool_call_update")
      .flatMap(({ content }) => content)
      .filter((each) => each.type === "patch");
    assert.deepEqual(
      told.map(({ path, added, removed }) => ({ path, added, removed })),
      wanted.slice(0, 2),
    );

    const { patch, nextCursor } = await caller.get_session_file_diff({
      sessionId,
      path: "new.txt",
    });
    assert.match(patch, /^\+a\n\+b\n\+c$/m);
    assert.equal(nextCursor, null);
    const reply = await caller.try("get_session_file_diff", { sessionId, path: "picture.txt" });
    assertRefused(reply, 404, "not_found");
    assertInvalid(
      await caller.try("get_session_file_diff", { sessionId, path: "new.txt", cursor: "x" }),
      "cursor",
    );

    const counted = await caller.get_session_git({ sessionId });
    assert.deepEqual([counted.commits, counted.uncommittedFiles, counted.live], [0, 4, true]);
    assert.equal(counted.branch, worktreeBranch);

    host.process.kill("SIGKILL");
    await untilStatus(caller, host.instanceId, "offline");
    assert.deepEqual(await caller.get_session_git({ sessionId }), { ...counted, live: false });
    const remembered = await caller.get_session_diff({ sessionId });
    assert.deepEqual(remembered, { ...answer, live: false });
    assertRefused(
      await caller.try("get_session_file_diff", { sessionId, path: "new.txt" }),
      409,
      "host_offline",
    );
  },
);

scenario(
  "A session in a plain directory has a diff against what the directory held at its start",
  ["get_session_diff.result"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const directory = join(host.root, "plain");
    mkdirSync(directory);
    writeFileSync(join(directory, "notes.txt"), "one\ntwo\n");
    writeFileSync(join(directory, "kept.txt"), "kept\n");
    const { sessionId, capabilities, worktreeBranch } = await startSession(caller, host, {
      directory,
    });
    assert.equal(worktreeBranch, null);
    assert.ok(capabilities.includes("diff") && !capabilities.includes("revert"));
    assert.deepEqual((await caller.get_session_diff({ sessionId })).files, []);
    const filePath = join(directory, "notes.txt");
    await promptTo(
      caller,
      sessionId,
      { calls: [{ tool: "read", input: { filePath } }] },
      { calls: [{ tool: "edit", input: { filePath, oldString: "two", newString: "2\n3" } }] },
      writes(join(directory, "new.txt"), "a\nb\nc\n"),
    );
    const answer = await caller.get_session_diff({ sessionId });
    assert.deepEqual(changedLines(answer.files), [
      { path: "new.txt", added: 3, removed: 0 },
      { path: "notes.txt", added: 2, removed: 1 },
    ]);
    assert.equal(answer.live, true);
    // The same as the agent's own figures for its edit, which its call reports in the log.
    const reported = updatesOf(await logOf(caller, sessionId), "tool_call_update")
      .flatMap(({ content }) => content)
      .filter((each) => each.type === "patch");
    assert.deepEqual(
      reported.map(({ path, added, removed }) => ({ path, added, removed })),
      changedLines(answer.files).slice(1),
    );
    const { patch } = await caller.get_session_file_diff({ sessionId, path: "notes.txt" });
    assert.match(patch, /^ one\n-two\n\+2\n\+3$/m);
    assert.deepEqual(readdirSync(directory).toSorted(), ["kept.txt", "new.txt", "notes.txt"]);
    await caller.end_session({ sessionId });
    assert.deepEqual(await caller.get_session_diff({ sessionId }), { ...answer, live: false });
    const unread = await startSession(caller, host);
    await caller.end_session({ sessionId: unread.sessionId });
    const reply = await caller.try("get_session_diff", { sessionId: unread.sessionId });
    assertRefused(reply, 409, "session_ended");
    const uncounted = await caller.try("get_session_git", { sessionId: unread.sessionId });
    assertRefused(uncounted, 409, "session_ended");
    const baselines = join(host.stateDirectory, "baselines");
    await until(
      "the copy is gone",
      5_000,
      () => Promise.resolve(readdirSync(baselines)),
      (left) => left.length === 0,
    );
  },
);

scenario(
  "Reverting drops a message with all it said, changed and committed, and keeps what came before",
  ["revert_session.undoes"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { sessionId, worktreeBranch, capabilities } = await startSession(caller, host);
    assert.ok(capabilities.includes("revert"));
    const place = worktreeOf(host, worktreeBranch!);
    await promptTo(caller, sessionId, writes(join(place, "first.txt"), "first\n"));
    git(place, "add", "first.txt");
    git(place, "commit", "--quiet", "--message=first");
    assert.equal((await caller.whoami({})).user, null, "the key is an organization's");
    const nobody = "Hawser <no-reply@hawser.invalid>";
    assert.equal(git(place, "log", "-1", "--format=%an <%ae> %cn <%ce>"), `${nobody} ${nobody}`);
    const head = git(place, "rev-parse", "HEAD");
    writeFileSync(join(place, "between.txt"), "by hand\n");
    const second = await promptTo(
      caller,
      sessionId,
      writes(join(place, "second.txt"), "second\n"),
      writes(join(place, "between.txt"), "by the agent\n"),
    );
    git(place, "add", ".");
    git(place, "commit", "--quiet", "--message=second");

    const unknown = await caller.try("revert_session", { sessionId, messageId: "msg_none" });
    assertRefused(unknown, 404, "not_found");
    assert.deepEqual(await caller.revert_session({ sessionId, messageId: second }), {
      sessionId,
      messageId: second,
    });
    assert.equal(existsSync(join(place, "second.txt")), false);
    assert.equal(readFileSync(join(place, "first.txt"), "utf8"), "first\n");
    assert.equal(readFileSync(join(place, "between.txt"), "utf8"), "by hand\n");
    assert.equal(git(place, "rev-parse", "HEAD"), head);
    assert.equal(git(place, "rev-parse", "--abbrev-ref", "HEAD"), worktreeBranch);
    await untilLogged(caller, sessionId, "session_reverted");
    assertRefused(
      await caller.try("revert_session", { sessionId, messageId: second }),
      404,
      "not_found",
    );
    // It goes on from there, and what was dropped stays dropped.
    const events = await runTurn(caller, sessionId, scripted("on", { text: "Going on." }));
    assert.deepEqual(saidIn(events), ["Going on."]);
    assert.equal(existsSync(join(place, "second.txt")), false);

    const { turnId } = await caller.send_prompt({ sessionId, text: scripted("slow", slowly()) });
    await until(
      "its beginning",
      30_000,
      () => logOf(caller, sessionId),
      (all) => all.some((e) => e.turnId === turnId && e.update.sessionUpdate === "turn_started"),
    );
    assertRefused(
      await caller.try("revert_session", { sessionId, messageId: second }),
      409,
      "turn_running",
    );
    await caller.abort_session({ sessionId });
    await untilEnd(caller, sessionId, turnId);
    await caller.end_session({ sessionId });
    assertRefused(
      await caller.try("revert_session", { sessionId, messageId: second }),
      409,
      "session_ended",
    );
  },
);

scenario(
  "A session without the capability is not reverted, and nothing changes",
  ["revert_session.capability"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const own = await startSession(caller, host, { useWorktree: false });
    assert.ok(!own.capabilities.includes("revert"));
    const { sessionId } = own;
    const path = join(host.repository, "own.txt");
    const messageId = await promptTo(caller, sessionId, writes(path, "mine\n"));
    assertRefused(
      await caller.try("revert_session", { sessionId, messageId }),
      409,
      "capability_missing",
    );
    assert.equal(readFileSync(path, "utf8"), "mine\n");
    const { files } = await caller.get_session_diff({ sessionId });
    assert.deepEqual(changedLines(files), [{ path: "own.txt", added: 1, removed: 0 }]);
    git(host.repository, "clean", "--quiet", "--force", "own.txt");
    await caller.end_session({ sessionId });
  },
);

scenario(
  "An ended session is listed and can be restored, even one deleted during a turn (F15)",
  ["end_session.worktree", "delete_session.ends_first"],
  async ({ world, caller, stranger }) => {
    const host = await world.addHost();
    const { instanceId } = host;
    const one = await startSession(caller, host, { title: "One" });
    const place = worktreeOf(host, one.worktreeBranch!);
    await promptTo(caller, one.sessionId, writes(join(place, "work.txt"), "work\n"));
    const [tracked] = git(place, "ls-files").split("\n");
    git(place, "add", "work.txt");
    git(place, "commit", "--quiet", "--message=unpushed");
    const tip = git(place, "rev-parse", "HEAD");
    writeFileSync(join(place, tracked!), "uncommitted\n");
    await caller.send_prompt({ sessionId: one.sessionId, text: scripted("long", slowly()) });
    assert.deepEqual(await caller.delete_session({ sessionId: one.sessionId }), {
      deleted: [one.sessionId],
      failed: [],
    });
    assert.equal(existsSync(place), false);
    assert.equal(git(host.repository, "branch", "--list", "hawser/*"), "");
    const { parkedSessions } = await caller.list_parked_sessions({ instanceId });
    const [parked] = parkedSessions;
    assert.equal(parkedSessions.length, 1);
    assert.deepEqual(
      [parked!.sessionId, parked!.title, parked!.branch],
      [one.sessionId, "One", one.worktreeBranch],
    );
    const days = (Date.parse(parked!.expiresAt) - Date.parse(parked!.parkedAt)) / 86_400_000;
    assert.equal(days, 14);
    assert.ok(parked!.sizeBytes > 0);

    const foreign = await stranger.try("restore_session", { sessionId: one.sessionId });
    assertRefused(foreign, 404, "not_found");
    const two = await caller.restore_session({ sessionId: one.sessionId });
    assert.notEqual(two.sessionId, one.sessionId);
    assert.deepEqual(
      [two.title, two.agentKind, two.worktreeBranch, two.directory, two.status],
      ["One", one.agentKind, one.worktreeBranch, one.directory, "active"],
    );
    assert.equal(worktreeOf(host, two.worktreeBranch!), place);
    assert.equal(git(place, "rev-parse", "HEAD"), tip);
    assert.equal(readFileSync(join(place, tracked!), "utf8"), "uncommitted\n");
    assertRefused(
      await caller.try("restore_session", { sessionId: one.sessionId }),
      404,
      "not_found",
    );
    const message = await promptTo(caller, two.sessionId, writes(join(place, "more.txt"), "x\n"));
    await caller.revert_session({ sessionId: two.sessionId, messageId: message });
    assert.equal(existsSync(join(place, "more.txt")), false);
    assert.equal((await caller.end_session({ sessionId: two.sessionId })).status, "ended");
    assert.equal(existsSync(place), false);
    const after = await caller.list_parked_sessions({ instanceId });
    assert.deepEqual(
      after.parkedSessions.map(({ sessionId }) => sessionId),
      [two.sessionId],
    );
  },
);
