// Sessions from their start to their end, as the control plane sees them.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { CommandOutcome } from "@hawser/host-protocol";
import { git, makeSessionId, makeSmallHost, policy, script, type OpenHost } from "./small-host.ts";

const codeOf = (outcome: CommandOutcome | undefined) =>
  outcome && "refusal" in outcome ? outcome.refusal.code : "done";

const wanted = (directory: string, sessionId = makeSessionId()) => ({
  sessionId,
  kind: "opencode" as const,
  directory,
  title: "Fix the bug",
  policy,
});

const names = (host: OpenHost, sessionId: string) =>
  host.entries(sessionId).map(({ update }) => update.sessionUpdate);

const asks = (rules: string[], detail = rules.join(" && ")) => ({
  calls: [{ tool: "permission", input: { title: "Run a command", detail, rules } }],
});

test("a session in a repository works in a worktree of its own, on a branch of its own", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  const started = await host.must("start_session", { sessionId, ...rest });
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
  const taken = await host.must("send_prompt", { sessionId, text });
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
  for (const { turnId } of host.entries(sessionId).slice(1)) assert.equal(turnId, taken.turnId);
  assert.equal(existsSync(join(small.repository, "b.txt")), false, "the user's own is untouched");
  const totals = host.entries(sessionId).at(-2)!.update;
  assert.ok(totals.sessionUpdate === "usage_update");
  assert.deepEqual([totals.usage.inputTokens, totals.usage.outputTokens], [12, 5]);
  await host.close();
});

test("the start is refused where it cannot work, and leaves nothing behind", async (t) => {
  using small = makeSmallHost();
  const host = small.open();
  writeFileSync(join(small.repository, "opencode.json"), "{}");
  mkdirSync(join(small.folder, ".opencode"));
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

test("a repository's own configuration is left out of the worktree, and the log says so", async () => {
  using small = makeSmallHost();
  mkdirSync(join(small.repository, ".opencode/plugin"), { recursive: true });
  writeFileSync(join(small.repository, ".opencode/plugin/evil.js"), "1");
  writeFileSync(join(small.repository, "opencode.json"), "{}");
  git(small.repository, "add", ".");
  git(small.repository, "commit", "--quiet", "--message=configured");
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  const { paths } = await host.until(sessionId, "config_ignored");
  assert.deepEqual(paths.sort(), [".opencode/plugin/evil.js", "opencode.json"]);
  const place = host.journal.driven.get(sessionId)!.directory;
  assert.equal(existsSync(join(place, ".opencode")), false);
  assert.equal(git(place, "status", "--porcelain"), "");
  // What the agent itself writes there stops the next prompt.
  const text = script([
    { calls: [{ tool: "write", input: { filePath: "opencode.json", content: "{}" } }] },
    { text: "Done." },
  ]);
  await host.must("send_prompt", { sessionId, text });
  await host.until(sessionId, "turn_finished");
  const refused = await host.ask("send_prompt", { sessionId, text: "again" });
  assert.equal(codeOf(refused), "project_config_present");
  assert.deepEqual(host.entries(sessionId).at(-1)!.update, {
    sessionUpdate: "config_ignored",
    paths: ["opencode.json"],
  });
  await host.close();
});

test("prompts wait in order, at most twenty, and an abort drops them and says so", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  const first = await host.must("send_prompt", { sessionId, text: script([asks(["ls"])]) });
  const { requestId, shownHash } = await host.until(sessionId, "request_raised");
  const waiting = [];
  for (let count = 0; count < 20; count++) {
    waiting.push(await host.must("send_prompt", { sessionId, text: `later ${count}` }));
  }
  assert.ok(waiting.every(({ queued }) => queued));
  assert.equal(
    codeOf(await host.ask("send_prompt", { sessionId, text: "too many" })),
    "queue_full",
  );
  assert.equal((await host.must("describe_session", { sessionId })).status, "waiting");
  const aborted = await host.must("abort_turn", { sessionId });
  assert.deepEqual(aborted, { aborted: true, droppedPrompts: 20 });
  const ended = host
    .entries(sessionId)
    .filter(({ update }) =>
      ["turn_finished", "prompt_dropped", "request_settled"].includes(update.sessionUpdate),
    );
  const dropped = ended.filter(({ update }) => update.sessionUpdate === "prompt_dropped");
  assert.deepEqual(
    dropped.map(({ turnId }) => turnId),
    waiting.map(({ turnId }) => turnId),
  );
  const finished = ended.find(({ update }) => update.sessionUpdate === "turn_finished")!;
  assert.equal(finished.turnId, first.turnId);
  assert.ok(
    finished.update.sessionUpdate === "turn_finished" && finished.update.outcome === "aborted",
  );
  const late = { sessionId, requestId, shownHash, answer: "once" as const, answers: null };
  assert.deepEqual(await host.must("answer_request", late), { status: "already_resolved" });
  assert.deepEqual(await host.must("abort_turn", { sessionId }), {
    aborted: false,
    droppedPrompts: 0,
  });
  await host.close();
});

test("queued prompts run one after the other, each as its own turn", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  const turns: string[] = [];
  for (const text of [script([{ text: "one", delayMs: 50 }]), "two", "three"]) {
    turns.push((await host.must("send_prompt", { sessionId, text })).turnId);
  }
  await host.until(sessionId, "turn_finished", (_update, { turnId }) => turnId === turns[2]);
  const order = host
    .entries(sessionId)
    .filter(({ update }) => update.sessionUpdate.startsWith("turn_"))
    .map(({ update, turnId }) => `${update.sessionUpdate} ${turns.indexOf(turnId!)}`);
  assert.deepEqual(
    order,
    [0, 1, 2].flatMap((turn) => [`turn_started ${turn}`, `turn_finished ${turn}`]),
  );
  await host.close();
});

test("an abort does not wait for a prompt that is still on its way", async () => {
  using small = makeSmallHost();
  const host = small.open({
    wrapDriver: (driver) => ({
      ...driver,
      async start(...given) {
        const session = await driver.start(...given);
        return { ...session, prompt: () => new Promise(() => {}) };
      },
    }),
  });
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  await host.must("send_prompt", { sessionId, text: "hello" });
  await host.until(sessionId, "turn_started");
  const before = performance.now();
  assert.equal((await host.must("abort_turn", { sessionId })).aborted, true);
  assert.ok(performance.now() - before < 3_000);
  assert.equal((await host.until(sessionId, "turn_finished")).outcome, "aborted");
  await host.close();
});

test("an answer is bound to what was shown, and one of several wins", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"]), { text: "ok" }]) });
  const { requestId, shownHash } = await host.until(sessionId, "request_raised");
  const answer = { sessionId, requestId, shownHash, answer: "once" as const, answers: null };
  const other = await host.ask("answer_request", { ...answer, shownHash: "other" });
  assert.equal(codeOf(other), "request_changed");
  const odd = await host.ask("answer_request", { ...answer, answer: null, answers: [["x"]] });
  assert.equal(codeOf(odd), "invalid_input");
  const all = await Promise.all([1, 2, 3].map(() => host.must("answer_request", answer)));
  assert.deepEqual(all.map(({ status }) => status).sort(), [
    "already_resolved",
    "already_resolved",
    "answered",
  ]);
  await host.until(sessionId, "turn_finished", ({ outcome }) => outcome === "completed");
  const settled = host
    .entries(sessionId)
    .filter(({ update }) => update.sessionUpdate === "request_settled");
  assert.equal(settled.length, 1);
  await host.must("end_session", { sessionId });
  assert.deepEqual(await host.must("answer_request", answer), { status: "undeliverable" });
  await host.close();
});

test("always remembers the exact rules that were shown, and no part of them", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  const steps = [
    asks(["git status && rm x"]),
    asks(["git status && rm x"], "the same again"),
    asks(["rm x"]),
    asks([]),
    { text: "ok" },
  ];
  await host.must("send_prompt", { sessionId, text: script(steps) });
  const answered = new Set<string>();
  const answerNext = async (answer: "once" | "always") => {
    const request = await host.until(
      sessionId,
      "request_raised",
      ({ requestId }) => !answered.has(requestId),
    );
    const { requestId, shownHash } = request;
    answered.add(requestId);
    await host.must("answer_request", { sessionId, requestId, shownHash, answer, answers: null });
    return request.permission!.alwaysRules;
  };
  assert.deepEqual(await answerNext("always"), ["git status && rm x"]);
  assert.deepEqual(await answerNext("once"), ["rm x"], "the second was not asked, its part is");
  assert.deepEqual(await answerNext("once"), [], "no rules are no rules that are all remembered");
  await host.until(sessionId, "turn_finished", ({ outcome }) => outcome === "completed");
  assert.equal(host.journal.driven.openRequests(sessionId).length, 0);
  await host.close();
});

test("questions take labels that were offered, or are dismissed", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  const questions = [
    { question: "Which?", options: [{ label: "a" }, { label: "b" }], freeText: false },
  ];
  const step = { calls: [{ tool: "question", input: { questions } }] };
  await host.must("send_prompt", { sessionId, text: script([step, step, { text: "ok" }]) });
  const first = await host.until(sessionId, "request_raised");
  const base = { sessionId, requestId: first.requestId, shownHash: first.shownHash };
  const bad = await host.ask("answer_request", { ...base, answer: null, answers: [["c"]] });
  assert.ok(bad && "refusal" in bad && bad.refusal.field === "answers");
  await host.must("answer_request", { ...base, answer: null, answers: [["a"]] });
  const second = await host.until(
    sessionId,
    "request_raised",
    ({ requestId }) => requestId !== first.requestId,
  );
  const next = { sessionId, requestId: second.requestId, shownHash: second.shownHash };
  await host.must("answer_request", { ...next, answer: "reject", answers: null });
  assert.equal((await host.until(sessionId, "turn_finished")).outcome, "completed");
  const settled = host
    .entries(sessionId)
    .flatMap(({ update }) => (update.sessionUpdate === "request_settled" ? [update] : []));
  assert.deepEqual(
    settled.map(({ answer, answers }) => ({ answer, answers })),
    [
      { answer: null, answers: [["a"]] },
      { answer: "reject", answers: null },
    ],
  );
  await host.close();
});

test("an agent that dies ends its turn and its requests at once; the next prompt tries again", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"])]) });
  await host.until(sessionId, "request_raised");
  host.driver.crash();
  assert.deepEqual(names(host, sessionId).slice(-3), [
    "request_settled",
    "turn_finished",
    "session_status",
  ]);
  const status = await host.until(sessionId, "session_status", (update) => update.reason !== null);
  assert.equal(status.status, "error");
  assert.equal((await host.must("describe_session", { sessionId })).status, "stopped");
  await host.must("send_prompt", { sessionId, text: "again" });
  const finished = await host.until(
    sessionId,
    "turn_finished",
    ({ outcome }) => outcome === "completed",
  );
  assert.equal(finished.reason, null);
  const back = host
    .entries(sessionId)
    .flatMap(({ update }) => (update.sessionUpdate === "session_status" ? [update.status] : []));
  assert.deepEqual(back, ["active", "error", "active"]);
  await host.close();
});

test("a restart of the kind detaches its sessions, and the next prompt brings them back", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  await host.must("send_prompt", { sessionId, text: script([{ text: "slow", delayMs: 5_000 }]) });
  await host.until(sessionId, "turn_started");
  const { detachedSessionIds } = await host.must("restart_agent", { kind: "opencode" });
  assert.deepEqual(detachedSessionIds, [sessionId]);
  assert.equal((await host.until(sessionId, "turn_finished")).outcome, "interrupted");
  const last = host.entries(sessionId).at(-1)!.update;
  assert.ok(last.sessionUpdate === "session_status" && last.status === "detached");
  await host.must("send_prompt", { sessionId, text: "again" });
  await host.until(sessionId, "turn_finished", ({ outcome }) => outcome === "completed");
  assert.equal(codeOf(await host.ask("restart_agent", { kind: "codex" })), "agent_not_ready");
  await host.close();
});

test("a title is the caller's once a caller gave one", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  await host.must("rename_session", { sessionId, title: "Mine" });
  assert.deepEqual(await host.until(sessionId, "session_info_update"), {
    sessionUpdate: "session_info_update",
    title: "Mine",
  });
  assert.equal((await host.must("describe_session", { sessionId })).title, "Mine");
  assert.equal([...small.agent.sessions.values()][0]!.title, "Mine");
  await host.close();
});

test("the end leaves no worktree and no branch, and is fine a second time and for strangers", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
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

test("an end that cannot clean up says why, and goes through when it can", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  const { worktreeBranch } = await host.must("start_session", { sessionId, ...rest });
  const place = host.journal.driven.get(sessionId)!.directory;
  // The user works on the session's branch, in a directory of their own.
  git(place, "checkout", "--quiet", "--detach");
  git(small.repository, "checkout", "--quiet", worktreeBranch!);
  assert.equal(codeOf(await host.ask("end_session", { sessionId })), "cleanup_failed");
  const last = host.entries(sessionId).at(-1)!.update;
  assert.ok(last.sessionUpdate === "session_status" && last.status === "cleanup_failed");
  git(small.repository, "checkout", "--quiet", "main");
  await host.must("end_session", { sessionId });
  assert.equal(git(small.repository, "branch", "--list", "hawser/*"), "");
  await host.close();
});

test("above half of the journal's room nothing new is begun", async () => {
  using small = makeSmallHost();
  const host = small.open({ journal: { limitBytes: 40_000 } });
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  for (let count = 0; host.journal.log.acceptsTurns(); count++) {
    host.journal.log.append(sessionId, { sessionUpdate: "unknown", raw: "x".repeat(1000) });
  }
  assert.equal(codeOf(await host.ask("send_prompt", { sessionId, text: "x" })), "journal_full");
  assert.equal(codeOf(await host.ask("start_session", wanted(small.repository))), "journal_full");
  await host.close();
});

test("the same command id takes one prompt", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  const commandId = randomUUID();
  const asked = () => host.ask("send_prompt", { sessionId, text: "once" }, commandId);
  const outcomes = [...(await Promise.all([asked(), asked()])), await asked()];
  for (const outcome of outcomes) assert.deepEqual(outcome, outcomes[0]);
  await host.until(sessionId, "turn_finished");
  assert.equal(names(host, sessionId).filter((name) => name === "turn_started").length, 1);
  await host.close();
});

test("model and options hold for later prompts, the mode does not; what is not offered is refused", async () => {
  using small = makeSmallHost();
  const host = small.open();
  const { sessionId, ...rest } = wanted(small.repository);
  await host.must("start_session", { sessionId, ...rest });
  const cases = [
    [{ model: { providerId: "scripted", modelId: "x" } }, "model"],
    [{ options: { variant: "x" } }, "options.variant"],
    [{ agent: "x" }, "agent"],
  ] as const;
  for (const [changes, field] of cases) {
    const outcome = await host.ask("send_prompt", { sessionId, text: "x", ...changes });
    assert.ok(outcome && "refusal" in outcome);
    assert.deepEqual([outcome.refusal.code, outcome.refusal.field], ["invalid_input", field]);
  }
  const model = { providerId: "scripted", modelId: "script-2" };
  const first = { sessionId, text: "x", model, agent: "plan", options: { variant: "high" } };
  assert.deepEqual((await host.must("send_prompt", first)).model, model);
  const second = await host.must("send_prompt", { sessionId, text: "y" });
  assert.deepEqual(second.model, model);
  await host.until(sessionId, "turn_finished", (_, { turnId }) => turnId === second.turnId);
  const modes = host
    .entries(sessionId)
    .flatMap(({ update }) => (update.sessionUpdate === "turn_started" ? [update.agent] : []));
  assert.deepEqual(modes, ["plan", null]);
  assert.deepEqual(host.journal.driven.get(sessionId)!.options, { variant: "high" });
  await host.close();
});

test("kinds are listed as their drivers see them, and one without a driver says so", async () => {
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
