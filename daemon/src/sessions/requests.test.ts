// Requests of agents, and which answers count.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asks, begin, codeOf, makeSmallHost, script } from "@hawser/testkit/small-host.ts";

test("an answer is bound to what was shown, and one of several wins", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
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
  const { host, sessionId } = await begin(small);
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
  const decided = await host.until(sessionId, "call_decided", () => true);
  assert.deepEqual(
    [decided.answer, decided.rule, decided.mode],
    ["allow", "a person answered always: git status && rm x", "ask"],
    "the log shows what was not asked",
  );
  assert.equal(host.journal.driven.openRequests(sessionId).length, 0);
  await host.close();
});

test("a stored rule is shown with who stored it, and a forgotten one asks again", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const steps = [asks(["ls"]), asks(["ls"]), asks(["rm x"]), { text: "ok" }];
  await host.must("send_prompt", { sessionId, text: script(steps) });
  const answered = new Set<string>();
  const answerNext = async (answer: "once" | "always") => {
    const { requestId, shownHash, permission } = await host.until(
      sessionId,
      "request_raised",
      (each) => !answered.has(each.requestId),
    );
    answered.add(requestId);
    const given = { sessionId, requestId, shownHash, answer, answers: null };
    await host.must("answer_request", { ...given, ownerId: "usr_ada.1" });
    return permission!.alwaysRules;
  };
  assert.deepEqual(await host.must("list_session_rules", { sessionId }), {
    rules: [],
    truncated: false,
  });
  await answerNext("always");
  await answerNext("once");
  await host.until(sessionId, "turn_finished");
  const { rules } = await host.must("list_session_rules", { sessionId });
  assert.deepEqual(
    rules.map(({ at, ...rule }) => ({ ...rule, hasTime: at !== null })),
    [{ rule: "ls", by: "usr_ada", uses: 1, hasTime: true }],
  );
  const other = await host.must("forget_session_rule", { sessionId, rule: "rm x" });
  assert.deepEqual(other.rules, rules, "a rule that is not stored");
  const wanted = { sessionId, rule: "ls", ownerId: "usr_bo.1" };
  for (let time = 0; time < 2; time++) {
    assert.deepEqual((await host.must("forget_session_rule", wanted)).rules, []);
  }
  const forgotten = host
    .entries(sessionId)
    .flatMap(({ update }) => (update.sessionUpdate === "rule_forgotten" ? [update] : []));
  assert.deepEqual(
    forgotten.map(({ rule, by }) => [rule, by]),
    [["ls", "usr_bo"]],
  );
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"]), { text: "ok" }]) });
  assert.deepEqual(await answerNext("once"), ["ls"]);
  await host.must("end_session", { sessionId });
  assert.equal(codeOf(await host.ask("forget_session_rule", wanted)), "session_ended");
  await host.close();
});

test("if a remembered permission does not reach the agent, a person is asked", async () => {
  using small = makeSmallHost();
  let answers = 0;
  const { host, sessionId } = await begin(small, {
    wrapDriver: (driver) => ({
      ...driver,
      async start(...given) {
        const session = await driver.start(...given);
        return {
          ...session,
          async answer(...answer) {
            if (++answers === 2) throw new Error("The connection was reset.");
            return session.answer(...answer);
          },
        };
      },
    }),
  });
  const steps = [asks(["ls"]), asks(["ls"], "the same again"), { text: "ok" }];
  await host.must("send_prompt", { sessionId, text: script(steps) });
  const first = await host.until(sessionId, "request_raised");
  const answer = async ({ requestId, shownHash }: typeof first, word: "once" | "always") => {
    const given = { sessionId, requestId, shownHash, answer: word, answers: null };
    assert.deepEqual(await host.must("answer_request", given), { status: "answered" });
  };
  await answer(first, "always");
  const second = await host.until(
    sessionId,
    "request_raised",
    ({ requestId }) => requestId !== first.requestId,
  );
  assert.equal(second.permission?.detail, "the same again");
  assert.equal((await host.must("describe_session", { sessionId })).status, "waiting");
  await answer(second, "once");
  await host.until(sessionId, "turn_finished", ({ outcome }) => outcome === "completed");
  assert.equal(host.journal.driven.openRequests(sessionId).length, 0);
  await host.close();
});

test("an answer that never arrived is not recorded in place of the one that the agent accepted", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small, {
    wrapDriver: (driver) => ({
      ...driver,
      async start(...given) {
        const session = await driver.start(...given);
        return { ...session, answer: () => Promise.reject(new Error("The connection was cut.")) };
      },
    }),
  });
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"]), { text: "ok" }]) });
  const { requestId, shownHash } = await host.until(sessionId, "request_raised");
  const given = { sessionId, requestId, shownHash, answer: "always" as const, answers: null };
  assert.deepEqual(await host.must("answer_request", given), { status: "undeliverable" });
  const { key } = host.journal.driven.request(requestId)!;
  await host.close();
  // Somebody at the host answers while no daemon runs.
  const [agent] = [...small.agent.sessions.values()];
  assert.equal(agent!.answer(key, { permission: "reject" }), "accepted");
  const next = small.open();
  const settled = await next.until(sessionId, "request_settled");
  assert.deepEqual([settled.outcome, settled.answer], ["answered", "reject"]);
  assert.equal(next.journal.driven.isRemembered(sessionId, ["ls"]), false);
  await next.until(sessionId, "turn_finished");
  await next.close();
});

test("a question is answered with labels that were offered, or dismissed", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
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
