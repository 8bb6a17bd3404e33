// What agents ask: permissions and questions of the real opencode, answered once, by people, and never
// wider than what was shown.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runDaemon, untilStatus, type TestHost } from "@hawser/testkit/host.ts";
import { askOpencode } from "../opencode-server.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";
import {
  ask,
  bash,
  logOf,
  outcomeOf,
  saidIn,
  scripted,
  startSession,
  untilAsked,
  untilEnd,
  updatesOf,
  type Step,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1, nodes: 2 });

let serial = 0;
/** A file in a session's worktree that a command leaves, to see whether it ran. */
const mark = () => `mark-${serial++}`;
const isMarked = (host: TestHost, sessionId: string, name: string) =>
  existsSync(join(host.stateDirectory, "worktrees", sessionId, name));

async function asking({ world, caller }: Pick<Context, "world" | "caller">, ...steps: Step[]) {
  const { sessionId } = await startSession(caller, world.hosts[0]!);
  const { turnId } = await caller.send_prompt({ sessionId, text: scripted("go", ...steps) });
  return { sessionId, turnId, request: await untilAsked(caller, sessionId) };
}

scenario(
  "An allowed command runs, a refused one does not, and the turn continues in both cases",
  [
    "general.capabilities",
    "answer_permission.result",
    "answer_permission.status.answered",
    "list_pending_requests.result",
  ],
  async (context) => {
    const { caller, world } = context;
    const host = world.hosts[0]!;
    for (const [answer, ran] of [
      ["once", true],
      ["reject", false],
    ] as const) {
      const path = mark();
      const { sessionId, turnId, request } = await asking(context, bash(`touch ${path}`), {
        text: "went on",
      });
      assert.equal(request.type, "permission");
      assert.deepEqual(
        [request.sessionId, request.instanceId, request.answerable, request.status],
        [sessionId, world.hosts[0]!.instanceId, true, "pending"],
      );
      assert.equal(request.permission!.detail, `touch ${path}`);
      assert.equal(isMarked(host, sessionId, path), false);
      const { live } = await caller.get_session_summary({ sessionId });
      assert.equal(live!.status, "waiting");
      const { requestId } = request;
      assert.deepEqual(await caller.answer_permission({ requestId, answer }), {
        status: "answered",
      });
      const events = await untilEnd(caller, sessionId, turnId);
      assert.equal(outcomeOf(events), "completed");
      assert.deepEqual(saidIn(events), ["went on"]);
      assert.equal(isMarked(host, sessionId, path), ran);
      assert.deepEqual(
        updatesOf(events, "request_settled").map(({ outcome, answer: given }) => [outcome, given]),
        [["answered", answer]],
      );
    }
  },
);

scenario(
  "Of twenty answers at once on two nodes one counts, and the command runs once",
  ["answer_permission.status.already_resolved"],
  async ({ world, caller }) => {
    const path = mark();
    const { sessionId, turnId, request } = await asking(
      { world, caller },
      bash(`echo x >> ${path}`),
      { text: "ok" },
    );
    const { requestId } = request;
    const key = world.organizations[0].keys.owner;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        world.callerFor(key, i % 2).answer_permission({ requestId, answer: "once" }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array<string>(19).fill("already_resolved"), "answered"]);
    await untilEnd(caller, sessionId, turnId);
    const events = await logOf(caller, sessionId);
    assert.equal(updatesOf(events, "request_settled").length, 1);
    const file = join(world.hosts[0]!.stateDirectory, "worktrees", sessionId, path);
    assert.equal(readFileSync(file, "utf8"), "x\n");
  },
);

scenario(
  "An answer given at the host itself was first, and the caller's answer does nothing",
  ["answer_permission.status.already_resolved"],
  async (context) => {
    const { caller, world } = context;
    const host = world.hosts[0]!;
    const path = mark();
    const { sessionId, turnId, request } = await asking(context, bash(`touch ${path}`), {
      text: "went on",
    });
    const directory = join(host.stateDirectory, "worktrees", sessionId);
    const open = await askOpencode<{ id: string }[]>(host, "/permission", { directory });
    assert.equal(open.length, 1);
    const body = { reply: "reject" };
    await askOpencode(host, `/permission/${open[0]!.id}/reply`, {
      directory,
      method: "POST",
      body,
    });
    const { requestId } = request;
    assert.deepEqual(await caller.answer_permission({ requestId, answer: "once" }), {
      status: "already_resolved",
    });
    await untilEnd(caller, sessionId, turnId);
    assert.equal(isMarked(host, sessionId, path), false);
    const { requests } = await caller.list_pending_requests({ sessionId, scope: "all" });
    assert.deepEqual(
      requests.map(({ answerable, answeredBy }) => [answerable, answeredBy]),
      [[false, null]],
    );
  },
);

scenario(
  "`always` covers the very command that was shown, in this session, and nothing wider",
  ["answer_permission.always", "answer_permission.once.scope"],
  async (context) => {
    const { caller, world } = context;
    const [one, two] = [mark(), mark()];
    const compound = `touch ${one} && touch ${two}`;
    const { sessionId, turnId, request } = await asking(context, bash(compound), { text: "ok" });
    assert.ok(request.permission!.alwaysRules.some((rule) => rule.includes(compound)));
    await caller.answer_permission({ requestId: request.requestId, answer: "always" });
    await untilEnd(caller, sessionId, turnId);

    const prompt = async (id: string, command: string) =>
      caller.send_prompt({ sessionId: id, text: scripted("again", bash(command), { text: "ok" }) });
    // The same command is not asked about again.
    const same = await prompt(sessionId, compound);
    const events = await untilEnd(caller, sessionId, same.turnId);
    assert.equal(outcomeOf(events), "completed");
    assert.equal(updatesOf(events, "request_raised").length, 0);
    // A part of the command is.
    const part = await prompt(sessionId, `touch ${two}`);
    const asked = await untilAsked(caller, sessionId);
    assert.equal(asked.permission!.detail, `touch ${two}`);
    await caller.answer_permission({ requestId: asked.requestId, answer: "once" });
    await untilEnd(caller, sessionId, part.turnId);
    // `once` was not remembered.
    await prompt(sessionId, `touch ${two}`);
    const again = await untilAsked(caller, sessionId);
    await caller.answer_permission({ requestId: again.requestId, answer: "reject" });
    // A forgotten rule asks again.
    const { rules } = await caller.list_session_rules({ sessionId });
    const [stored] = rules;
    assert.deepEqual(
      [rules.length, stored!.rule, stored!.uses],
      [1, request.permission!.alwaysRules[0], 1],
    );
    assert.deepEqual(stored!.by, (await caller.whoami({})).user);
    const left = await caller.forget_session_rule({ sessionId, rule: stored!.rule });
    assert.deepEqual(left.rules, []);
    await prompt(sessionId, compound);
    const forgotten = await untilAsked(caller, sessionId);
    assert.equal(forgotten.permission!.detail, compound);
    await caller.answer_permission({ requestId: forgotten.requestId, answer: "reject" });
    // Another session asks for the same command.
    const other = await startSession(caller, world.hosts[0]!);
    await prompt(other.sessionId, compound);
    const elsewhere = await untilAsked(caller, other.sessionId);
    assert.equal(elsewhere.permission!.detail, compound);
  },
);

scenario(
  "Fifty-one chained commands are one rule, and a shorter chain is asked again",
  [],
  async (context) => {
    const { caller } = context;
    const chain = Array.from({ length: 51 }, (_, i) => `echo ${i}`);
    const { sessionId, turnId, request } = await asking(context, bash(chain.join(" && ")), {
      text: "ok",
    });
    await caller.answer_permission({ requestId: request.requestId, answer: "always" });
    await untilEnd(caller, sessionId, turnId);
    const shorter = chain.slice(0, 50).join(" && ");
    await caller.send_prompt({ sessionId, text: scripted("less", bash(shorter), { text: "ok" }) });
    const asked = await untilAsked(caller, sessionId);
    assert.equal(asked.permission!.detail, shorter);
  },
);

scenario(
  "Answers reach the agent question by question in the order asked",
  ["answer_question.answers.order", "answer_question.status", "answer_question.form"],
  async (context) => {
    const { caller, world } = context;
    const { sessionId, turnId, request } = await asking(
      context,
      ask(
        { question: "Which letter?", labels: ["A", "B"] },
        { question: "Which others?", labels: ["X", "Y", "Z"], multiple: true },
      ),
      { text: "thanks" },
    );
    assert.equal(request.type, "question");
    assert.deepEqual(
      request.questions!.map(({ question, multiple }) => [question, multiple]),
      [
        ["Which letter?", false],
        ["Which others?", true],
      ],
    );
    const { requestId } = request;
    assertInvalid(await caller.try("answer_question", { requestId, answers: [["A"]] }), "answers");
    assertRefused(
      await caller.try("answer_permission", { requestId, answer: "once" }),
      409,
      "wrong_request_type",
    );
    const answers = [["B"], ["X", "Y"]];
    assert.deepEqual(await caller.answer_question({ requestId, answers }), { status: "answered" });
    assert.deepEqual(await caller.answer_question({ requestId, answers }), {
      status: "already_resolved",
    });
    const events = await untilEnd(caller, sessionId, turnId);
    assert.deepEqual(saidIn(events), ["thanks"]);
    const told = JSON.stringify(world.model!.requests.at(-1)!.body);
    assert.ok(told.includes("Which letter?") && told.includes("B"));
    assert.match(told, /X, ?Y/);
  },
);

scenario(
  "The agent learns that its question was dismissed, and continues",
  ["answer_question.reject.dismisses"],
  async (context) => {
    const { caller, world } = context;
    const { sessionId, turnId, request } = await asking(
      context,
      ask({ question: "Red or blue?", labels: ["Red", "Blue"] }),
      { text: "never mind" },
    );
    const { requestId } = request;
    assert.deepEqual(await caller.answer_question({ requestId, reject: true }), {
      status: "answered",
    });
    const events = await untilEnd(caller, sessionId, turnId);
    assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["never mind"]]);
    assert.match(JSON.stringify(world.model!.requests.at(-1)!.body), /dismissed/i);
    const { requests } = await caller.list_pending_requests({ sessionId, scope: "resolved" });
    assert.deepEqual(
      requests.map(({ status, answer }) => [status, answer]),
      [["answered", "reject"]],
    );
  },
);

scenario(
  "Open and settled requests are listed separately, filtered by session and host",
  [
    "list_pending_requests.scope.default",
    "list_pending_requests.scope.resolved",
    "list_pending_requests.filter",
  ],
  async (context) => {
    const { caller } = context;
    const one = await asking(context, bash("true"), bash("false"), { text: "ok" });
    const two = await asking(context, bash("true"), { text: "ok" });
    await caller.answer_permission({ requestId: one.request.requestId, answer: "once" });
    const open = await until(
      "the second request",
      20_000,
      () => caller.list_pending_requests({ sessionId: one.sessionId }),
      ({ requests }) => requests.length === 1,
    );
    assert.notEqual(open.requests[0]!.requestId, one.request.requestId);
    const of = async (scope: "pending" | "resolved" | "all", sessionId: string) =>
      (await caller.list_pending_requests({ sessionId, scope })).requests.length;
    assert.deepEqual(
      [
        await of("pending", one.sessionId),
        await of("resolved", one.sessionId),
        await of("all", one.sessionId),
        await of("pending", two.sessionId),
        await of("resolved", two.sessionId),
      ],
      [1, 1, 2, 1, 0],
    );
    const [here, there] = [context.world.hosts[0]!, await context.world.addHost()];
    const idsOf = async (filter: Parameters<typeof caller.list_pending_requests>[0]) =>
      new Set((await caller.list_pending_requests(filter)).requests.map((each) => each.requestId));
    assert.equal((await idsOf({ instanceId: there.instanceId })).size, 0);
    const three = await startSession(caller, there);
    const text = scripted("go", bash("true"), { text: "ok" });
    await caller.send_prompt({ sessionId: three.sessionId, text });
    const { requestId: third } = await untilAsked(caller, three.sessionId);
    const second = two.request.requestId;
    const [everywhere, onHere] = [await idsOf({}), await idsOf({ instanceId: here.instanceId })];
    assert.ok(everywhere.has(second) && everywhere.has(third));
    assert.ok(onHere.has(second) && !onHere.has(third));
    assert.deepEqual(await idsOf({ instanceId: there.instanceId }), new Set([third]));
    assert.deepEqual(await idsOf({ sessionId: two.sessionId }), new Set([second]));
    const both = { sessionId: two.sessionId, instanceId: here.instanceId };
    assert.deepEqual(await idsOf(both), new Set([second]));
    assert.deepEqual(await idsOf({ ...both, instanceId: there.instanceId }), new Set());
    const { requests } = await caller.search_requests({ sessionId: two.sessionId });
    assert.deepEqual(
      requests.map(({ requestId }) => requestId),
      [two.request.requestId],
    );
  },
);

scenario(
  "Stopping a turn withdraws its requests; an answer after the session's end changes nothing",
  [],
  async (context) => {
    const { caller } = context;
    const path = mark();
    const stopped = await asking(context, bash(`touch ${path}`), { text: "ok" });
    await caller.abort_session({ sessionId: stopped.sessionId });
    await until(
      "withdrawn",
      10_000,
      () => caller.list_pending_requests({ sessionId: stopped.sessionId, scope: "all" }),
      ({ requests }) => requests[0]!.status === "withdrawn" && !requests[0]!.answerable,
    );
    const late = { requestId: stopped.request.requestId, answer: "once" as const };
    assert.deepEqual(await caller.answer_permission(late), { status: "already_resolved" });

    const ended = await asking(context, bash(`touch ${path}`), { text: "ok" });
    await caller.end_session({ sessionId: ended.sessionId });
    const answered = await caller.answer_permission({
      requestId: ended.request.requestId,
      answer: "once",
    });
    assert.deepEqual(answered, { status: "undeliverable" });

    const deleted = await asking(context, bash(`touch ${path}`), { text: "ok" });
    await caller.delete_session({ sessionId: deleted.sessionId });
    const gone = { requestId: deleted.request.requestId, answer: "once" };
    assertRefused(await caller.try("answer_permission", gone), 404, "not_found");
  },
);

scenario(
  "An answer that cannot reach the host is recorded, and the request is open again once the host is back",
  ["answer_permission.status.undeliverable"],
  async ({ world, caller }) => {
    const host = await world.addHost();
    const path = mark();
    const { sessionId } = await startSession(caller, host);
    const { turnId } = await caller.send_prompt({
      sessionId,
      text: scripted("go", bash(`touch ${path}`), { text: "went on" }),
    });
    const { requestId } = await untilAsked(caller, sessionId);
    host.process.kill("SIGKILL");
    await untilStatus(caller, host.instanceId, "offline");
    assert.deepEqual(await caller.answer_permission({ requestId, answer: "once" }), {
      status: "undeliverable",
    });
    const { requests } = await caller.list_pending_requests({ sessionId, scope: "all" });
    assert.deepEqual([requests[0]!.status, requests[0]!.answer], ["undeliverable", "once"]);
    await using _again = runDaemon(host.stateDirectory, host.environment);
    await until(
      "answerable again",
      30_000,
      () => caller.list_pending_requests({ sessionId }),
      (listed) => listed.requests[0]?.answerable === true,
    );
    assert.equal(isMarked(host, sessionId, path), false, "it was not delivered later by itself");
    assert.deepEqual(await caller.answer_permission({ requestId, answer: "once" }), {
      status: "answered",
    });
    assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "completed");
    assert.equal(isMarked(host, sessionId, path), true);
  },
);

scenario(
  "An agent's key can neither answer requests nor open anything, and each try is audited",
  [],
  async (context) => {
    const { caller, world } = context;
    const { sessionId, request } = await asking(context, bash("true"), { text: "ok" });
    const key = await world.makeKey(world.organizations[0], ["sessions:view", "sessions:edit"], {
      sessionId,
    });
    const agent = world.callerFor(key);
    for (const [action, input] of [
      ["answer_permission", { requestId: request.requestId, answer: "once" }],
      ["run_shell", { sessionId, command: "id" }],
      ["create_exposure", { instanceId: world.hosts[0]!.instanceId, ttlMinutes: 60 }],
    ] as const) {
      assertRefused(await agent.try(action, input), 403, "forbidden", action);
    }
    const { entries } = await caller.list_audit_entries({ limit: 50 });
    const refused = entries.filter(({ outcome }) => outcome === "forbidden").map((e) => e.action);
    for (const action of ["answer_permission", "run_shell", "create_exposure"])
      assert.ok(refused.includes(action), action);
    assert.equal((await untilAsked(caller, sessionId)).status, "pending");
  },
);
