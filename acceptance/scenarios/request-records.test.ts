// The fields of requests: what agents of two hosts ask, who asks, and whether an answer still counts. The
// answers themselves are in requests.test.ts.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { RequestRecord } from "@hawser/contract";
import type { Calls } from "@hawser/testkit/caller.ts";
import { stepsOf } from "@hawser/testkit/kind-steps.ts";
import { scenario, until, useWorld } from "../scenario.ts";
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
  worktreeOf,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 2 });

const allOf = async (caller: Calls, sessionId: string) =>
  (await caller.list_pending_requests({ sessionId, scope: "all" })).requests;

scenario(
  "A request names its type, session and host, and is answered by its id",
  ["record.request.requestId", "record.request.type", "record.request.host"],
  async ({ world, caller }) => {
    const asked: RequestRecord[] = [];
    for (const host of world.hosts) {
      const { instanceId } = host;
      for (const type of ["permission", "question"] as const) {
        const { sessionId } = await startSession(caller, host);
        const question = ask({ question: "Which?", labels: ["A", "B"] });
        const step = type === "permission" ? bash("true") : question;
        const text = scripted(type, step, { text: "Went on." });
        const { turnId } = await caller.send_prompt({ sessionId, text });
        const request = await untilAsked(caller, sessionId);
        assert.deepEqual(
          [request.type, request.sessionId, request.instanceId],
          [type, sessionId, instanceId],
        );
        assert.ok(!asked.some(({ requestId }) => requestId === request.requestId));
        asked.push(request);
        const { requestId } = request;
        const answered =
          type === "permission"
            ? await caller.answer_permission({ requestId, answer: "once" })
            : await caller.answer_question({ requestId, answers: [["A"]] });
        assert.deepEqual(answered, { status: "answered" });
        const events = await untilEnd(caller, sessionId, turnId);
        assert.deepEqual([outcomeOf(events), saidIn(events)], ["completed", ["Went on."]]);
      }
    }
  },
);

scenario(
  "A request of a sub-agent names the session that it works for",
  ["record.request.session"],
  async ({ world, caller }) => {
    const other = await startSession(caller, world.hosts[0]!);
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const inner = scripted("look around", bash("echo from the sub-agent"), { text: "I looked." });
    const input = { description: "look", prompt: inner, subagent_type: "general" };
    const text = scripted("delegate", { calls: [{ tool: "task", input }] }, { text: "It looked." });
    const { turnId } = await caller.send_prompt({ sessionId, text });
    const task = await untilAsked(caller, sessionId);
    assert.equal(task.sessionId, sessionId);
    await caller.answer_permission({ requestId: task.requestId, answer: "once" });
    const { requests } = await until(
      "the sub-agent's request",
      40_000,
      () => caller.list_pending_requests({ instanceId: world.hosts[0]!.instanceId }),
      ({ requests: open }) => open.some(({ requestId }) => requestId !== task.requestId),
    );
    assert.deepEqual(
      requests.map((each) => [each.sessionId, each.permission?.detail]),
      [[sessionId, "echo from the sub-agent"]],
    );
    await caller.answer_permission({ requestId: requests[0]!.requestId, answer: "once" });
    const events = await untilEnd(caller, sessionId, turnId);
    assert.equal(outcomeOf(events), "completed");
    assert.ok(saidIn(events).includes("I looked."));
    assert.deepEqual(await allOf(caller, other.sessionId), []);
  },
);

scenario(
  "A request can be answered while it is open, and not after an answer, an abort or a restart",
  ["record.request.answerable"],
  async ({ world, caller }) => {
    const { instanceId } = world.hosts[0]!;
    const endings = {
      answer: ({ requestId }: RequestRecord) =>
        caller.answer_permission({ requestId, answer: "reject" }),
      abort: ({ sessionId }: RequestRecord) => caller.abort_session({ sessionId }),
      restart: () => caller.restart_opencode({ instanceId }),
    };
    for (const [what, end] of Object.entries(endings)) {
      const { sessionId } = await startSession(caller, world.hosts[0]!);
      const text = scripted(what, bash("true"), { text: "ok" });
      const { turnId } = await caller.send_prompt({ sessionId, text });
      const open = await untilAsked(caller, sessionId);
      assert.equal(open.answerable, true, what);
      await end(open);
      await untilEnd(caller, sessionId, turnId);
      const [settled, ...others] = await allOf(caller, sessionId);
      assert.deepEqual(
        [settled?.requestId, settled?.answerable, others],
        [open.requestId, false, []],
      );
      const { requests } = await caller.list_pending_requests({ sessionId });
      assert.deepEqual(requests, [], what);
    }
  },
);

scenario(
  "Of three calls that are allowed and one that is asked about, one becomes a request",
  ["record.request.only_asked"],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { sessionId, worktreeBranch } = await startSession(caller, host);
    const filePath = join(worktreeOf(host, worktreeBranch!), "own.txt");
    const allowed = [
      { calls: [{ tool: "write", input: { filePath, content: "one\n" } }] },
      { calls: [{ tool: "read", input: { filePath } }] },
      stepsOf.opencode.plan("a plan"),
    ];
    const text = scripted("work", ...allowed, bash("echo asked"), { text: "Done." });
    const { turnId } = await caller.send_prompt({ sessionId, text });
    const { requestId, permission } = await untilAsked(caller, sessionId);
    assert.equal(permission?.detail, "echo asked");
    await caller.answer_permission({ requestId, answer: "once" });
    assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "completed");
    const calls = updatesOf(await logOf(caller, sessionId), "tool_call_update");
    assert.deepEqual(
      calls.map(({ status }) => status),
      Array(4).fill("completed"),
    );
    const requests = await allOf(caller, sessionId);
    assert.deepEqual(
      requests.map((each) => each.requestId),
      [requestId],
    );
  },
);
