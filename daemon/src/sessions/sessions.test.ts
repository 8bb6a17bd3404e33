// Sessions from their start to their end, as the control plane sees them.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  asks,
  begin,
  codeOf,
  git,
  makeSessionId,
  makeSmallHost,
  names,
  script,
  wanted,
} from "@hawser/testkit/small-host.ts";
import { until } from "@hawser/testkit/until.ts";
import { CommandRefusal } from "../command-refusal.ts";
import { AgentNotReady } from "../drivers/driver.ts";

test("a session in a repository works in a worktree of its own, on a branch of its own", async () => {
  using small = makeSmallHost();
  const { host, sessionId, started } = await begin(small);
  assert.equal(started.directory, small.repository);
  assert.match(started.worktreeBranch!, /^hawser\/fix-the-bug-[a-z0-9]{10}$/);
  assert.deepEqual(started.model, { providerId: "scripted", modelId: "script-1" });
  assert.deepEqual(names(host, sessionId), ["session_status"]);
  const text = script([
    {
      calls: [{ tool: "write", input: { filePath: "b.txt", content: "two" } }],
      usage: { input: 5, output: 2 },
    },
    { text: "Done.", usage: { input: 7, output: 3 } },
  ]);
  const taken = await host.must("send_prompt", { sessionId, text, ownerId: "usr_ada.1" });
  assert.match(taken.turnId, /^trn_/);
  assert.match(taken.messageId, /^msg_/);
  assert.equal(taken.queued, false);
  const finished = await host.until(sessionId, "turn_finished");
  assert.deepEqual(finished.outcome, "completed");
  assert.deepEqual(names(host, sessionId), [
    "session_status",
    "turn_started",
    "user_message_chunk",
    "tool_call",
    "tool_call_update",
    "usage_update",
    "agent_message_chunk",
    "usage_update",
    "turn_finished",
  ]);
  const asked = host.entries(sessionId)[2]!.update;
  assert.ok(asked.sessionUpdate === "user_message_chunk");
  assert.deepEqual([asked.by, asked.attachments], ["usr_ada", undefined]);
  for (const { turnId } of host.entries(sessionId).slice(1)) assert.equal(turnId, taken.turnId);
  assert.equal(existsSync(join(small.repository, "b.txt")), false, "the user's own is untouched");
  const totals = host.entries(sessionId).at(-2)!.update;
  assert.ok(totals.sessionUpdate === "usage_update");
  assert.deepEqual([totals.usage.inputTokens, totals.usage.outputTokens], [12, 5]);
  await host.close();
});

test("a start that cannot work is refused and leaves nothing behind", async (t) => {
  using small = makeSmallHost();
  const host = small.open();
  writeFileSync(join(small.repository, "opencode.json"), '{"plugin":["./x.js"]}');
  mkdirSync(join(small.folder, ".opencode", "plugin"), { recursive: true });
  writeFileSync(join(small.folder, ".opencode/plugin/x.js"), "1");
  const plain = join(small.folder, "..", "plain");
  mkdirSync(plain);
  const cases: [name: string, changes: object, code: string, field?: string][] = [
    ["outside of the roots", { directory: small.directory }, "not_found"],
    ["not there", { directory: join(small.repository, "nowhere") }, "not_found"],
    ["a worktree of a plain folder", { directory: plain, useWorktree: true }, "not_a_repository"],
    ["a kind without a driver", { kind: "codex" }, "agent_not_ready"],
    ["the repository's own configuration", { useWorktree: false }, "project_config_present"],
    ["a folder's own configuration", { directory: small.folder }, "project_config_present"],
    ["an unknown model", { modelId: "x" }, "invalid_input", "modelId"],
    [
      "an unknown provider",
      { providerId: "x", modelId: "script-1" },
      "invalid_input",
      "providerId",
    ],
    ["a provider alone", { providerId: "scripted" }, "invalid_input", "modelId"],
    ["an unknown option", { options: { speed: "9" } }, "invalid_input", "options.speed"],
    ["an unknown value", { options: { variant: "9" } }, "invalid_input", "options.variant"],
  ];
  for (const [name, changes, code, field] of cases) {
    await t.test(name, async () => {
      const asked = { ...wanted(small.repository), ...changes };
      const outcome = await host.ask("start_session", asked);
      assert.equal(codeOf(outcome), code, JSON.stringify(outcome));
      assert.ok(outcome && "refusal" in outcome && outcome.refusal.field === field);
      assert.equal(host.journal.driven.list().length, 0);
      assert.equal(small.agent.sessions.size, 0, "nothing was run");
    });
  }
  assert.equal(git(small.repository, "branch", "--list", "hawser/*"), "");
  await host.close();
});

test("a start that fails after its deadline says so in the log, because nobody waits for the answer", async () => {
  using small = makeSmallHost();
  for (const step of ["readState", "start"] as const) {
    const deadline = new AbortController();
    const passDeadline = async () => {
      deadline.abort();
      throw new AgentNotReady("It is too slow.");
    };
    const host = small.open({ wrapDriver: (driver) => ({ ...driver, [step]: passDeadline }) });
    const asked = wanted(small.repository);
    await assert.rejects(host.sessions.start(asked, deadline.signal), CommandRefusal);
    assert.deepEqual(
      host.entries(asked.sessionId).map(({ update }) => update),
      [
        {
          sessionUpdate: "session_status",
          status: "ended",
          reason: "It is too slow.",
          code: "start_failed",
        },
      ],
    );
    assert.equal(host.journal.driven.list().length, 0);
    await host.close();
  }
  assert.equal(git(small.repository, "branch", "--list", "hawser/*"), "");
});

test("a repository's own agent configuration is not checked out into the worktree, and the log says so", async () => {
  using small = makeSmallHost();
  mkdirSync(join(small.repository, ".opencode/plugin"), { recursive: true });
  writeFileSync(join(small.repository, ".opencode/plugin/evil.js"), "1");
  writeFileSync(join(small.repository, "opencode.json"), "{}");
  git(small.repository, "add", ".");
  git(small.repository, "commit", "--quiet", "--message=configured");
  const { host, sessionId } = await begin(small);
  const { paths } = await host.until(sessionId, "config_ignored");
  assert.deepEqual(paths.sort(), [".opencode/plugin/evil.js", "opencode.json"]);
  const place = host.journal.driven.get(sessionId)!.directory;
  assert.equal(existsSync(join(place, ".opencode")), false);
  assert.equal(git(place, "status", "--porcelain"), "");
  // Configuration that the agent writes itself has no effect; only a plugin stops the next prompt.
  const writing = (content: string) =>
    script([
      { calls: [{ tool: "write", input: { filePath: "opencode.json", content } }] },
      { text: "Done." },
    ]);
  for (const content of ['{"mcp":{}}', '{"plugin":["./x.js"]}']) {
    const { turnId } = await host.must("send_prompt", { sessionId, text: writing(content) });
    await until("the turn is over", () =>
      host
        .entries(sessionId)
        .some((entry) => entry.turnId === turnId && entry.update.sessionUpdate === "turn_finished"),
    );
  }
  const refused = await host.ask("send_prompt", { sessionId, text: "again" });
  assert.equal(codeOf(refused), "project_config_present");
  assert.deepEqual(host.entries(sessionId).at(-1)!.update, {
    sessionUpdate: "config_ignored",
    paths: ["opencode.json"],
  });
  await host.close();
});

test("the agent's title does not replace a caller's", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  await host.must("rename_session", { sessionId, title: "Mine" });
  assert.deepEqual(await host.until(sessionId, "session_info_update"), {
    sessionUpdate: "session_info_update",
    title: "Mine",
  });
  assert.equal((await host.must("describe_session", { sessionId })).title, "Mine");
  assert.equal([...small.agent.sessions.values()][0]!.title, "Mine");
  await host.close();
});

test("the end leaves no worktree and no branch; ending again, or an unknown session, succeeds", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const place = host.journal.driven.get(sessionId)!.directory;
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"])]) });
  await host.until(sessionId, "request_raised");
  await host.must("send_prompt", { sessionId, text: "waits" });
  await host.must("end_session", { sessionId });
  assert.equal(existsSync(place), false);
  assert.equal(git(small.repository, "branch", "--list", "hawser/*"), "");
  assert.equal(small.agent.sessions.size, 0);
  assert.deepEqual(names(host, sessionId).slice(-5), [
    "request_settled",
    "prompt_dropped",
    "tool_call_update",
    "turn_finished",
    "session_status",
  ]);
  await host.must("end_session", { sessionId });
  assert.equal(codeOf(await host.ask("send_prompt", { sessionId, text: "x" })), "session_ended");
  assert.equal(codeOf(await host.ask("describe_session", { sessionId })), "not_found");
  const stranger = makeSessionId();
  await host.must("end_session", { sessionId: stranger });
  const late = await host.ask("start_session", wanted(small.repository, stranger));
  assert.equal(codeOf(late), "already_exists", "what was ended does not begin");
  await host.close();
});

test("an end that cannot clean up says why, and succeeds once it can", async () => {
  using small = makeSmallHost();
  const { host, sessionId, started } = await begin(small);
  const place = host.journal.driven.get(sessionId)!.directory;
  // The user works on the session's branch, in a directory of their own.
  git(place, "checkout", "--quiet", "--detach");
  git(small.repository, "checkout", "--quiet", started.worktreeBranch!);
  assert.equal(codeOf(await host.ask("end_session", { sessionId })), "cleanup_failed");
  const last = host.entries(sessionId).at(-1)!.update;
  assert.ok(last.sessionUpdate === "session_status" && last.status === "cleanup_failed");
  git(small.repository, "checkout", "--quiet", "main");
  await host.must("end_session", { sessionId });
  assert.equal(git(small.repository, "branch", "--list", "hawser/*"), "");
  await host.close();
});

test("if the journal is more than half full, no session and no turn is started", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small, { journal: { limitBytes: 40_000 } });
  for (let count = 0; host.journal.log.acceptsTurns(); count++) {
    host.journal.log.append(sessionId, { sessionUpdate: "unknown", raw: "x".repeat(1000) });
  }
  assert.equal(codeOf(await host.ask("send_prompt", { sessionId, text: "x" })), "journal_full");
  assert.equal(codeOf(await host.ask("start_session", wanted(small.repository))), "journal_full");
  await host.close();
});

test("kinds are listed with their driver's state; a kind without a driver says so", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { agentKinds } = await host.must("list_agent_kinds", {});
  const [opencode, claude] = agentKinds;
  assert.deepEqual(opencode!.problems, []);
  assert.deepEqual(
    claude!.problems.map(({ code }) => code),
    ["no_driver"],
  );
  const models = await host.must("list_models", { kind: "opencode" });
  assert.equal(models.agentKind, "opencode");
  assert.equal(codeOf(await host.ask("list_models", { kind: "codex" })), "agent_not_ready");
  await host.close();
});
