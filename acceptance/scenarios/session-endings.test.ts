// Ending and deleting sessions of the real opencode: the turn stopped, the worktree parked, the record
// kept or gone, and nothing of a user's own directory touched.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runDaemon, untilStatus, type TestHost } from "@hawser/testkit/host.ts";
import { hasOpencodeSession, opencodeSessions } from "../opencode-server.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  addQuickHost,
  bash,
  logOf,
  outcomeOf,
  runTurn,
  scripted,
  slowly,
  startSession,
  untilAsked,
  untilLogged,
  updatesOf,
  worktreeOf,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8" }).trim();
const worktreesOf = (host: TestHost) => git(host.repository, "worktree", "list", "--porcelain");
const branchesOf = (host: TestHost) => git(host.repository, "branch", "--list", "hawser/*");

scenario(
  "Ending a session during a turn stops the turn, removes worktree and branch, and keeps the record",
  [
    "end_session.aborts",
    "end_session.disposes",
    "end_session.worktree",
    "end_session.archived",
    "end_session.status",
  ],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { sessionId, worktreeBranch } = await startSession(caller, host, { title: "to end" });
    const place = worktreeOf(host, worktreeBranch!);
    writeFileSync(join(place, "committed.txt"), "one\n");
    git(place, "add", "committed.txt");
    git(place, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "unpushed");
    const tip = git(place, "rev-parse", "HEAD");
    writeFileSync(join(place, "untracked.txt"), "two\n");
    await caller.send_prompt({ sessionId, text: scripted("to be ended", slowly()) });
    await until(
      "running",
      20_000,
      () => caller.get_session_summary({ sessionId }),
      ({ live }) => live?.status === "running",
    );
    const [own] = await opencodeSessions(host, place);
    assert.equal(await hasOpencodeSession(host, own!, host.repository), true);
    const isOfTurn = ({ prompt }: { prompt: string }) => prompt.startsWith("to be ended");
    const asked = await until(
      "the model's part of the turn",
      20_000,
      async () => world.model!.requests.find(isOfTurn),
      (request) => request?.outcome === "running",
    );

    const ended = await caller.end_session({ sessionId });
    assert.equal(await hasOpencodeSession(host, own!, host.repository), false);
    assert.equal(asked?.outcome, "left", "the agent no longer reads the model's answer");
    assert.deepEqual([ended.status, typeof ended.endedAt], ["ended", "string"]);
    assert.equal(branchesOf(host).includes(worktreeBranch!), false);
    assert.equal(worktreesOf(host).includes(worktreeBranch!), false);
    assert.equal(existsSync(place), false);
    // Publicly gone; the way back is on the host.
    assert.equal(git(host.repository, "cat-file", "-t", tip), "commit");
    assert.ok(git(host.repository, "for-each-ref", "refs/hawser/parked").includes(tip));

    const { status } = await caller.get_session_summary({ sessionId });
    assert.equal(status, "ended");
    const { sessions } = await caller.list_sessions({ status: "ended" });
    assert.ok(sessions.some((session) => session.sessionId === sessionId));
    const events = await untilLogged(
      caller,
      sessionId,
      "session_status",
      ({ status: to }) => to === "ended",
    );
    assert.equal(outcomeOf(events), "aborted");
    assert.deepEqual(await caller.end_session({ sessionId }), ended, "again changes nothing");
  },
);

scenario(
  "Ending a session in a user's own directory leaves every file and branch there",
  ["end_session.no_worktree"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const before = [
      readdirSync(host.repository).sort(),
      git(host.repository, "for-each-ref"),
      git(host.repository, "status", "--porcelain"),
    ];
    const { sessionId } = await startSession(caller, host, { useWorktree: false });
    await runTurn(caller, sessionId, scripted("hi", { text: "hello" }));
    assert.equal((await caller.end_session({ sessionId })).status, "ended");
    assert.deepEqual(
      [
        readdirSync(host.repository).sort(),
        git(host.repository, "for-each-ref"),
        git(host.repository, "status", "--porcelain"),
      ],
      before,
    );
  },
);

scenario(
  "A session that is ended while its host is offline is cleanup_failed, and is cleaned up once the host is back",
  ["end_session.status"],
  async ({ world, caller }) => {
    const { host, agentKind } = await addQuickHost(world);
    const one = await startSession(caller, host, { agentKind });
    const two = await startSession(caller, host, { agentKind });
    host.process.kill("SIGKILL");
    await untilStatus(caller, host.instanceId, "offline");
    assert.equal((await caller.end_session({ sessionId: one.sessionId })).status, "cleanup_failed");
    const deleted = await caller.delete_session({ sessionId: two.sessionId });
    assert.deepEqual(deleted, { deleted: [two.sessionId], failed: [] });
    assertRefused(
      await caller.try("send_prompt", { sessionId: one.sessionId, text: "x" }),
      409,
      "session_ended",
    );
    await using _again = runDaemon(host.stateDirectory, host.environment);
    await until(
      "ended",
      30_000,
      () => caller.get_session_summary({ sessionId: one.sessionId }),
      ({ status }) => status === "ended",
    );
    await until(
      "both branches gone",
      30_000,
      async () => branchesOf(host),
      (branches) => branches === "",
    );
    const reply = await caller.try("get_session_summary", { sessionId: two.sessionId });
    assertRefused(reply, 404, "not_found");
    assert.equal(
      (await caller.get_instance({ instanceId: host.instanceId })).activeSessionCount,
      0,
    );
  },
);

scenario(
  "Deleting a session ends it first, and removes its record and requests",
  [
    "delete_session.ends_first",
    "delete_session.record",
    "delete_session.requests",
    "delete_session.deleted",
  ],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { sessionId, worktreeBranch } = await startSession(caller, host);
    await caller.send_prompt({ sessionId, text: scripted("ask", bash("true")) });
    const { requestId } = await untilAsked(caller, sessionId);
    assert.deepEqual(await caller.delete_session({ sessionId }), {
      deleted: [sessionId],
      failed: [],
    });
    assert.equal(branchesOf(host).includes(worktreeBranch!), false);
    assertRefused(await caller.try("get_session_summary", { sessionId }), 404, "not_found");
    const { sessions } = await caller.list_sessions({ limit: 200 });
    assert.ok(sessions.every((session) => session.sessionId !== sessionId));
    const { requests } = await caller.list_pending_requests({ scope: "all", limit: 200 });
    assert.ok(requests.every((request) => request.requestId !== requestId));
  },
);

scenario(
  "Each of several ids is deleted by itself",
  ["delete_session.independent", "delete_session.failed", "delete_session.nothing"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const one = (await startSession(caller, host)).sessionId;
    const two = (await startSession(caller, host)).sessionId;
    const unknown = "ses_00000000000000000000000000";
    const { deleted, failed } = await caller.delete_session({
      sessionIds: [one, unknown, two, one],
    });
    assert.deepEqual(deleted.sort(), [one, two].sort());
    assert.deepEqual(
      failed.map(({ sessionId }) => sessionId),
      [unknown],
    );
    assert.ok(failed[0]!.reason.length > 0);

    const none = await caller.try("delete_session", { sessionIds: ["x", one] });
    const { fields } = assertRefused(none, 409, "nothing_deleted");
    assert.deepEqual(
      fields?.map(({ field, message }) => [field, message.length > 0]),
      [
        ["sessionIds[0]", true],
        ["sessionIds[1]", true],
      ],
      "each with its reason",
    );
  },
);

scenario(
  "A renamed session keeps its name, even while its host is offline",
  ["rename_session.offline"],
  async ({ world, caller }) => {
    const { host, agentKind } = await addQuickHost(world);
    const { sessionId } = await startSession(caller, host, { agentKind, title: "first" });
    assert.equal((await caller.rename_session({ sessionId, title: "second" })).title, "second");
    host.process.kill("SIGKILL");
    await untilStatus(caller, host.instanceId, "offline");
    await caller.rename_session({ sessionId, title: "third" });
    await using _again = runDaemon(host.stateDirectory, host.environment);
    await untilStatus(caller, host.instanceId, "online");
    await runTurn(caller, sessionId, scripted("hi", { text: "hello" }));
    const { title, live } = await caller.get_session_summary({ sessionId });
    assert.equal(title, "third");
    assert.ok(live);
    const events = await logOf(caller, sessionId);
    assert.equal(updatesOf(events, "turn_finished").length, 1);
  },
);
