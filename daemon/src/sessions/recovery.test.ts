// How sessions recover when the daemon or the agent stops and returns, and when the disk or the journal
// is full.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { AgentNotReady, type Driver } from "../drivers/driver.ts";
import {
  asks,
  begin,
  git,
  makeSessionId,
  makeSmallHost,
  policy,
  script,
  wanted,
} from "@hawser/testkit/small-host.ts";
import type { OpenHost } from "@hawser/testkit/small-host.ts";

const outcomesIn = (host: OpenHost, sessionId: string) =>
  host
    .entries(sessionId)
    .flatMap(({ update }) => (update.sessionUpdate === "turn_finished" ? [update.outcome] : []));

const statusesIn = (host: OpenHost, sessionId: string) =>
  host
    .entries(sessionId)
    .flatMap(({ update }) => (update.sessionUpdate === "session_status" ? [update.status] : []));

/** Makes the journal refuse writes. The returned function ends that. */
function fill(host: OpenHost): () => void {
  const filler = makeSessionId();
  for (const length of [1_000, 0]) {
    const update = { sessionUpdate: "unknown" as const, raw: "x".repeat(length) };
    assert.throws(() => {
      for (;;) host.journal.log.append(filler, update);
    }, /journal is full/);
  }
  return () => host.journal.log.abandon(filler);
}

test("a turn continues while one daemon hands over to the next, and its end is recorded once", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const steps = [{ text: "one two three four five six", paceMs: 40 }];
  await host.must("send_prompt", { sessionId, text: script(steps) });
  await host.must("send_prompt", { sessionId, text: script([{ text: "Second." }]) });
  await host.until(sessionId, "turn_started");
  await host.close();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const next = small.open();
  await next.until(sessionId, "agent_message_chunk", ({ content }) => content.text === "Second.");
  await next.until(sessionId, "turn_finished", () => outcomesIn(next, sessionId).length === 2);
  assert.deepEqual(outcomesIn(next, sessionId), ["completed", "completed"]);
  const said = next
    .entries(sessionId)
    .flatMap(({ update }) =>
      update.sessionUpdate === "agent_message_chunk" ? [update.content.text] : [],
    );
  assert.deepEqual(said, ["one two three four five six", "Second."]);
  assert.deepEqual(statusesIn(next, sessionId), ["active"], "nothing else was reported");
  await next.close();
});

test("a request can be answered after the daemon has restarted", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"]), { text: "ok" }]) });
  const { requestId, shownHash } = await host.until(sessionId, "request_raised");
  await host.close();
  const next = small.open();
  assert.equal((await next.must("describe_session", { sessionId })).status, "waiting");
  const answer = { sessionId, requestId, shownHash, answer: "once" as const, answers: null };
  assert.deepEqual(await next.must("answer_request", answer), { status: "answered" });
  await next.until(sessionId, "turn_finished", ({ outcome }) => outcome === "completed");
  await next.close();
});

test("the next prompt resumes an idle session; if the agent has lost the session, the log says so", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  await host.close();
  const next = small.open();
  assert.equal((await next.must("describe_session", { sessionId })).status, "stopped");
  await next.must("send_prompt", { sessionId, text: "hello" });
  await next.until(sessionId, "turn_finished", ({ outcome }) => outcome === "completed");
  assert.equal((await next.must("describe_session", { sessionId })).status, "idle");
  await next.close();
  small.agent.sessions.clear();
  const last = small.open();
  const outcome = await last.ask("send_prompt", { sessionId, text: "hello?" });
  assert.ok(outcome && "refusal" in outcome && outcome.refusal.code === "agent_not_ready");
  assert.deepEqual(statusesIn(last, sessionId), ["active", "error"]);
  await last.must("end_session", { sessionId });
  await last.close();
});

test("prompts that wait when the agent dies are delivered to the next one, or dropped with a log entry", async () => {
  using small = makeSmallHost();
  let isBroken = false;
  const wrapDriver = (driver: Driver): Driver => ({
    ...driver,
    async resume(...given) {
      if (isBroken) throw new AgentNotReady("It does not start.");
      return driver.resume(...given);
    },
  });
  const { host, sessionId } = await begin(small, { wrapDriver });
  const slow = script([{ text: "slow", delayMs: 10_000 }]);
  await host.must("send_prompt", { sessionId, text: slow });
  const second = await host.must("send_prompt", { sessionId, text: slow });
  await host.until(sessionId, "turn_started");
  host.driver.crash();
  await host.until(sessionId, "turn_started", (_, { turnId }) => turnId === second.turnId);
  assert.deepEqual(statusesIn(host, sessionId), ["active", "error", "active"]);
  const third = await host.must("send_prompt", { sessionId, text: "never" });
  isBroken = true;
  host.driver.crash();
  const dropped = await host.until(sessionId, "prompt_dropped");
  assert.deepEqual([dropped.turnId, dropped.reason], [third.turnId, "It does not start."]);
  assert.deepEqual(outcomesIn(host, sessionId), ["interrupted", "interrupted"]);
  assert.deepEqual(statusesIn(host, sessionId), ["active", "error", "active", "error"]);
  await host.close();
});

test("an answer that the agent accepted without confirming it is recorded as answered", async () => {
  using small = makeSmallHost();
  const wrapDriver = (driver: Driver): Driver => ({
    ...driver,
    async start(...given) {
      const session = await driver.start(...given);
      return {
        ...session,
        async answer(key, answer, signal) {
          await session.answer(key, answer, signal);
          throw new Error("The connection was cut.");
        },
      };
    },
  });
  const { host, sessionId } = await begin(small, { wrapDriver });
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"]), { text: "ok" }]) });
  const { requestId, shownHash } = await host.until(sessionId, "request_raised");
  const answer = { sessionId, requestId, shownHash, answer: "always" as const, answers: null };
  assert.deepEqual(await host.must("answer_request", answer), { status: "undeliverable" });
  const settled = await host.until(sessionId, "request_settled");
  assert.deepEqual([settled.outcome, settled.answer], ["answered", "always"]);
  assert.ok(host.journal.driven.isRemembered(sessionId, ["ls"]));
  await host.close();
});

test("what an agent does while the journal is full is recorded when there is room again", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small, { journal: { limitBytes: 200_000 } });
  await host.must("send_prompt", {
    sessionId,
    text: script([{ text: "said while it was full", delayMs: 200 }]),
  });
  await host.until(sessionId, "turn_started");
  const makeRoom = fill(host);
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.deepEqual(outcomesIn(host, sessionId), []);
  makeRoom();
  assert.equal((await host.until(sessionId, "turn_finished")).outcome, "completed");
  const { content } = await host.until(sessionId, "agent_message_chunk");
  assert.equal(content.text, "said while it was full");
  await host.close();
});

test("a prompt that fails while the journal is full ends its turn when there is room, and the next runs", async () => {
  using small = makeSmallHost();
  const failed = Promise.withResolvers<() => void>();
  const gate = Promise.withResolvers<void>();
  let given = 0;
  const host: OpenHost = small.open({
    journal: { limitBytes: 200_000 },
    wrapDriver: (driver) => ({
      ...driver,
      async start(...place) {
        const session = await driver.start(...place);
        return {
          ...session,
          async prompt(...prompt) {
            if (given++ > 0) return session.prompt(...prompt);
            await gate.promise;
            failed.resolve(fill(host));
            throw new Error("The connection was cut.");
          },
        };
      },
    }),
  });
  const asked = wanted(small.repository);
  const { sessionId } = asked;
  await host.must("start_session", asked);
  await host.must("send_prompt", { sessionId, text: "never arrives" });
  const next = await host.must("send_prompt", { sessionId, text: script([{ text: "Second." }]) });
  gate.resolve();
  const makeRoom = await failed.promise;
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.deepEqual(outcomesIn(host, sessionId), []);
  makeRoom();
  await host.until(sessionId, "turn_finished", (_, { turnId }) => turnId === next.turnId);
  assert.deepEqual(outcomesIn(host, sessionId), ["failed", "completed"]);
  await host.close();
});

test("a prompt that could not be delivered because the journal was full is delivered once there is room", async () => {
  using small = makeSmallHost();
  const filled = Promise.withResolvers<() => void>();
  let isFilled = false;
  const asked = wanted(small.repository);
  const { sessionId } = asked;
  const host: OpenHost = small.open({
    journal: { limitBytes: 200_000 },
    wrapDriver: (driver) => ({
      ...driver,
      async findProjectConfig(directory) {
        // The last check before the delivery, after the prompt was recorded as sent.
        if (host.journal.driven.prompts(sessionId).length > 0 && !isFilled) {
          isFilled = true;
          filled.resolve(fill(host));
        }
        return driver.findProjectConfig(directory);
      },
    }),
  });
  await host.must("start_session", asked);
  await host.must("send_prompt", { sessionId, text: script([{ text: "Late." }]) });
  const makeRoom = await filled.promise;
  await new Promise((resolve) => setTimeout(resolve, 500));
  makeRoom();
  assert.equal((await host.until(sessionId, "turn_finished")).outcome, "completed");
  assert.deepEqual(outcomesIn(host, sessionId), ["completed"]);
  await host.close();
});

test("a session that is ended while it starts leaves nothing", async () => {
  using small = makeSmallHost();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const host = small.open({
    wrapDriver: (driver) => ({
      ...driver,
      async start(...given) {
        begun.resolve();
        await gate.promise;
        return driver.start(...given);
      },
    }),
  });
  const sessionId = makeSessionId();
  const asked = { kind: "opencode" as const, directory: small.repository, title: null, policy };
  const starting = host.ask("start_session", { sessionId, ...asked });
  await begun.promise;
  const place = host.journal.driven.get(sessionId)!.directory;
  await host.must("end_session", { sessionId });
  gate.resolve();
  const outcome = await starting;
  assert.ok(outcome && "refusal" in outcome, JSON.stringify(outcome));
  assert.equal(existsSync(place), false);
  assert.equal(git(small.repository, "branch", "--list", "hawser/*"), "");
  assert.deepEqual(host.entries(sessionId), []);
  assert.equal(small.agent.sessions.size, 0);
  await host.close();
});

test("text is published while somebody watches; the answer to watch contains the text so far", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const steps = [{ text: "one two three four five six seven", paceMs: 30 }];
  const { turnId } = await host.must("send_prompt", { sessionId, text: script(steps) });
  let open = (await host.must("watch_session", { sessionId })).open;
  for (let tries = 0; open.length === 0 && tries < 100; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    open = (await host.must("watch_session", { sessionId })).open;
  }
  assert.equal(open[0]!.turnId, turnId);
  const whole = await host.until(sessionId, "agent_message_chunk");
  // The published text, laid over the text in the answer, is the beginning of the message.
  let text = open[0]!.text;
  for (const more of host.published) text = text.slice(0, more.offset) + more.text;
  assert.ok(whole.content.text.startsWith(text));
  assert.ok(text.length > open[0]!.text.length);
  assert.deepEqual((await host.must("watch_session", { sessionId })).open, []);
  await host.close();
});
