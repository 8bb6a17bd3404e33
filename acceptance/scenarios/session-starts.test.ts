// start_session on the real opencode: where the session works, on which model, and what stops it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { SessionRecord } from "@hawser/contract";
import type { Caller } from "@hawser/testkit/caller.ts";
import { untilStatus } from "@hawser/testkit/host.ts";
import { newMember } from "../new-member.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";
import {
  addQuickHost,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  startSession,
  untilLogged,
  updatesOf,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

const git = (directory: string, ...args: string[]) =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8" }).trim();
const write = (filePath: string, content: string) => ({
  calls: [{ tool: "write", input: { filePath, content } }],
});

scenario(
  "A session in a repository gets a worktree and a branch of its own, and the main checkout stays as it was",
  [
    "start_session.result",
    "start_session.worktree",
    "start_session.useWorktree.default",
    "record.session.sessionId",
  ],
  async ({ world }) => {
    const host = world.hosts[0]!;
    const caller = world.callerFor(world.organizations[0].keys.member);
    const before = git(host.repository, "status", "--porcelain=v1", "--branch");
    const one = await startSession(caller, host, { title: "One; $(touch x) & co" });
    const two = await startSession(caller, host, { title: "Two" });
    assert.equal(one.status, "active");
    assert.deepEqual([one.instanceId, one.agentKind], [host.instanceId, "opencode"]);
    assert.equal(one.directory, realpathSync(host.repository));
    assert.equal(one.startedBy.type, "user");
    assert.ok(one.capabilities.includes("questions"));
    for (const { worktreeBranch } of [one, two])
      assert.match(worktreeBranch!, /^hawser\/[a-z0-9-]+$/);
    assert.notEqual(one.worktreeBranch, two.worktreeBranch);
    const worktrees = git(host.repository, "worktree", "list", "--porcelain").split("\n");
    for (const { worktreeBranch } of [one, two])
      assert.ok(worktrees.includes(`branch refs/heads/${worktreeBranch}`));
    assert.equal(git(host.repository, "status", "--porcelain=v1", "--branch"), before);

    const { sessions } = await caller.list_sessions({});
    assert.ok(sessions.some(({ sessionId }) => sessionId === one.sessionId));
    const [first] = await untilLogged(caller, one.sessionId, "session_status");
    assert.equal(first!.update.sessionUpdate, "session_status");
  },
);

scenario(
  "A session started with a user's key is that user's, wherever it is shown",
  ["auth.key.user_scope"],
  async (context) => {
    const { world, caller } = context;
    const host = world.hosts[0]!;
    const [{ userId, keys }] = world.organizations;
    const pat = await newMember(context, "member");
    const starters = [
      { as: world.callerFor(keys.member), type: "user", id: userId },
      { as: pat.as, type: "user", id: pat.userId },
      { as: caller, type: "organization_key", id: (await caller.whoami({})).apiKeyId },
    ];
    for (const { as, type, id } of starters) {
      const { sessionId, startedBy } = await startSession(as, host);
      const { sessions } = await caller.list_sessions({});
      const listed = sessions.find((each) => each.sessionId === sessionId);
      const summary = await caller.get_session_summary({ sessionId });
      for (const shown of [startedBy, listed?.startedBy, summary.startedBy]) {
        assert.deepEqual([shown?.type, shown?.id], [type, id]);
      }
    }
  },
);

scenario(
  "Without a worktree the session works in the directory itself; a plain folder can have no worktree",
  ["start_session.useWorktree.false"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const branches = git(host.repository, "branch", "--list");
    const inside = await startSession(caller, host, { useWorktree: false });
    assert.equal(inside.worktreeBranch, null);
    const file = join(realpathSync(host.repository), "made-by-the-agent.txt");
    const events = await runTurn(
      caller,
      inside.sessionId,
      scripted("write", write(file, "hello"), { text: "written" }),
    );
    assert.equal(outcomeOf(events), "completed");
    assert.equal(readFileSync(file, "utf8"), "hello");
    assert.equal(git(host.repository, "branch", "--list"), branches);
    await caller.end_session({ sessionId: inside.sessionId });
    assert.ok(existsSync(file));

    const folder = join(host.root, "plain");
    mkdirSync(folder);
    const plain = await startSession(caller, host, { directory: folder });
    assert.equal(plain.worktreeBranch, null);
    assertRefused(
      await caller.try("start_session", {
        instanceId: host.instanceId,
        directory: folder,
        useWorktree: true,
      }),
      409,
      "not_a_repository",
    );
  },
);

scenario(
  "A directory outside the roots is refused like a missing one, and nothing is started",
  ["start_session.directory.roots"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const count = (await caller.list_sessions({ limit: 200 })).sessions.length;
    for (const directory of ["/", "/etc", join(host.root, "nowhere"), `${host.root}/../state`]) {
      const reply = await caller.try("start_session", { instanceId: host.instanceId, directory });
      assertRefused(reply, 404, "not_found", directory);
    }
    assert.equal((await caller.list_sessions({ limit: 200 })).sessions.length, count);
  },
);

scenario(
  "The session uses the given model, and a model that is not listed is refused",
  ["start_session.model", "send_prompt.model.used"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { instanceId } = host;
    const listing = await caller.list_models({ instanceId });
    const session = await startSession(caller, host, { providerId: "stub", modelId: "stub-small" });
    assert.equal(session.agentKind, listing.agentKind);
    assert.deepEqual(session.model, { providerId: "stub", modelId: "stub-small" });
    const { requests } = world.model!;
    const modelsFor = (words: string) =>
      requests.filter(({ prompt }) => prompt.includes(words)).map(({ model }) => model);
    await runTurn(caller, session.sessionId, scripted("small-first", { text: "ok" }));
    assert.deepEqual(modelsFor("small-first"), ["stub-small"]);
    // A given model holds for later prompts too.
    await runTurn(caller, session.sessionId, scripted("then-large", { text: "ok" }), {
      model: { providerID: "stub", modelID: "stub-1" },
    });
    await runTurn(caller, session.sessionId, scripted("large-again", { text: "ok" }));
    assert.deepEqual(
      [modelsFor("then-large"), modelsFor("large-again")],
      [["stub-1"], ["stub-1"]].map((m) => m),
    );

    const alone = await startSession(caller, host, { modelId: "stub-small" });
    assert.deepEqual(alone.model, { providerId: "stub", modelId: "stub-small" });
    const start = { instanceId, directory: host.repository };
    assertInvalid(await caller.try("start_session", { ...start, modelId: "no-such" }), "modelId");
    assertInvalid(
      await caller.try("start_session", { ...start, options: { variant: "no-such" } }),
      "options.variant",
    );
    const { sessionId } = session;
    const prompt = { sessionId, text: "hello" };
    const model = { providerID: "stub", modelID: "no-such" };
    assertInvalid(await caller.try("send_prompt", { ...prompt, model }), "model");
    assertInvalid(await caller.try("send_prompt", { ...prompt, agent: "no-such" }), "agent");
  },
);

scenario(
  "A kind that is not installed and a host that is offline are refused; nothing is installed or started",
  ["install_agent_kind.never_implicit", "start_session.unavailable"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const count = (await caller.list_sessions({ limit: 200 })).sessions.length;
    const { instanceId, repository: directory } = host;
    const absent = { instanceId, directory, agentKind: "codex" };
    const refusal = assertRefused(
      await caller.try("start_session", absent),
      409,
      "agent_not_ready",
    );
    assert.match(refusal.message, /Call install_agent_kind/);
    const { agentKinds } = await caller.list_agent_kinds({ instanceId });
    assert.equal(agentKinds.find(({ kind }) => kind === "codex")!.installed, false);

    const away = await world.addHost();
    away.process.kill("SIGKILL");
    await untilStatus(caller, away.instanceId, "offline");
    const there = { instanceId: away.instanceId, directory: away.repository };
    assertRefused(await caller.try("start_session", there), 409, "host_offline");
    assert.equal((await caller.list_sessions({ limit: 200 })).sessions.length, count);
  },
);

scenario(
  "Sessions are listed newest first, with the fields of a list, by host and by status",
  ["list_sessions.result", "list_sessions.order", "list_sessions.filter"],
  async ({ world, caller }) => {
    const one = world.hosts[0]!;
    const { host: two, agentKind: kind } = await addQuickHost(world);
    const started: SessionRecord[] = [];
    for (const title of ["a", "b", "c"]) {
      started.push(await startSession(caller, two, { agentKind: kind, title }));
    }
    const [a, b, c] = started.map(({ sessionId }) => sessionId);
    const other = await startSession(caller, one, { title: "elsewhere" });
    await caller.end_session({ sessionId: b! });
    const listed = async (filter: Parameters<Caller["list_sessions"]>[0]) =>
      (await caller.list_sessions({ limit: 200, ...filter })).sessions;
    const ids = async (filter: Parameters<Caller["list_sessions"]>[0]) =>
      (await listed(filter)).map(({ sessionId }) => sessionId);

    const [newest] = await listed({});
    assert.equal(newest!.sessionId, other.sessionId);
    const { instanceId } = two;
    assert.deepEqual(await ids({ instanceId }), [c, b, a]);
    assert.deepEqual(await ids({ instanceId, status: "active" }), [c, a]);
    assert.deepEqual(await ids({ instanceId, status: "ended" }), [b]);
    assert.deepEqual(await ids({ instanceId, status: "error" }), []);
    const active = await listed({ status: "active" });
    assert.ok(active.every(({ status }) => status === "active"));
    const both = new Set(active.map((session) => session.instanceId));
    assert.ok(both.has(one.instanceId) && both.has(two.instanceId));
    const shown = (await listed({ instanceId })).at(-1)!;
    const { title, agentKind, directory, worktreeBranch, status, startedBy } = started[0]!;
    const expected = { sessionId: a, instanceId, title, agentKind, directory, worktreeBranch };
    assert.deepEqual(shown, { ...shown, ...expected, status, startedBy });
    for (const session of await listed({})) {
      for (const key of [...Object.keys(expected), "status", "cost", "startedBy"]) {
        assert.ok(Object.hasOwn(session, key), key);
      }
    }
  },
);

scenario(
  "A session that the host's owner started by hand is not a session of the service",
  ["list_sessions.own"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { sessionId } = await startSession(caller, host, { title: "ours" });
    const before = await caller.list_sessions({ limit: 200 });
    // With what its owner finds on the host's disk.
    const file = join(host.stateDirectory, "opencode-server.json");
    const { port, password } = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
    const server = `http://127.0.0.1:${port}/session?directory=${encodeURIComponent(host.repository)}`;
    const login = Buffer.from(`opencode:${password}`).toString("base64");
    const headers = { authorization: `Basic ${login}`, "content-type": "application/json" };
    const body = JSON.stringify({ title: "by hand" });
    const made = await fetch(server, { method: "POST", headers, body });
    assert.equal(made.status, 200);
    const theirs = (await (await fetch(server, { headers })).json()) as { title: string }[];
    assert.ok(
      theirs.some(({ title }) => title === "by hand"),
      "opencode has it",
    );

    await caller.refresh_instance({ instanceId: host.instanceId });
    await runTurn(caller, sessionId, scripted("hi", { text: "Hello." }));
    const after = await caller.list_sessions({ limit: 200 });
    const named = ({ sessions }: typeof after) => sessions.map(({ title }) => title);
    assert.deepEqual(named(after), named(before));
    assert.ok(!named(after).includes("by hand"));
  },
);

scenario("Two starts with one idempotency key are one session", [], async ({ world, caller }) => {
  const host = world.hosts[0]!;
  const input = { instanceId: host.instanceId, directory: host.repository };
  const [one, two] = await Promise.all([
    caller.start_session(input, { idempotencyKey: "twice" }),
    caller.start_session(input, { idempotencyKey: "twice" }),
  ]);
  assert.deepEqual(one, two);
  const events = await runTurn(caller, one.sessionId, scripted("hi", { text: "Hello." }));
  assert.deepEqual(saidIn(events), ["Hello."]);
  assert.equal(updatesOf(events, "turn_started").length, 1);
});
