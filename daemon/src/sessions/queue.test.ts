// The prompts that wait: their order, their texts, who edits them, and what an end of the daemon makes of them. queue-crash.test.ts kills
// it at each commit.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asks, begin, codeOf, makeSmallHost, script } from "@hawser/testkit/small-host.ts";
import type { OpenHost, OpenOptions, SmallHost } from "@hawser/testkit/small-host.ts";
import { heldForMs, holdsAfter } from "./holds.ts";

const ada = "usr_ada.1";
const bo = "usr_bo.1";

/** A session whose turn waits for an answer, with prompts behind it. */
async function beginWaiting(small: SmallHost, texts: readonly string[], options?: OpenOptions) {
  const { host, sessionId } = await begin(small, options);
  const send = (text: string) => host.must("send_prompt", { sessionId, text, ownerId: ada });
  const running = await send(script([asks(["ls"])]));
  await host.until(sessionId, "request_raised");
  const ids: string[] = [];
  for (const text of texts) ids.push((await send(text)).messageId);
  return { host, sessionId, running, ids };
}

const textsIn = (queue: { prompts: { text: string }[] }) => queue.prompts.map(({ text }) => text);

/** What waits, by the log alone. */
function loggedQueue(host: OpenHost, sessionId: string): string[] {
  let waiting: { id: string; text: string }[] = [];
  for (const { update } of host.entries(sessionId)) {
    const { sessionUpdate: word } = update;
    if (word === "prompt_queued") waiting.push({ id: update.messageId, text: update.text });
    if (word === "prompt_changed") {
      waiting = waiting.map((each) =>
        each.id === update.messageId ? { ...each, text: update.text } : each,
      );
    }
    if (word === "prompt_moved") {
      const moved = waiting.find(({ id }) => id === update.messageId)!;
      const others = waiting.filter((each) => each !== moved);
      const found = others.findIndex(({ id }) => id === update.beforeMessageId);
      waiting = others.toSpliced(found === -1 ? others.length : found, 0, moved);
    }
    if (word === "prompt_dropped" || word === "turn_started") {
      waiting = waiting.filter(({ id }) => id !== update.messageId);
    }
  }
  return waiting.map(({ text }) => text);
}

/** The prompts that were run, in order. */
const runIn = (host: OpenHost, sessionId: string) =>
  host
    .entries(sessionId)
    .flatMap(({ update }) =>
      update.sessionUpdate === "user_message_chunk" ? [update.content.text] : [],
    );

const outcomesIn = (host: OpenHost, sessionId: string) =>
  host
    .entries(sessionId)
    .flatMap(({ update }) => (update.sessionUpdate === "turn_finished" ? [update.outcome] : []));

/** Resolves when the turn of the prompt with this text has ended. */
const untilRun = (host: OpenHost, sessionId: string, text: string) =>
  host.until(sessionId, "turn_finished", (_update, { turnId }) =>
    host
      .entries(sessionId)
      .some(
        ({ update, turnId: own }) =>
          own === turnId &&
          update.sessionUpdate === "user_message_chunk" &&
          update.content.text === text,
      ),
  );

test("prompts are moved, changed and removed, and the log alone says what waits", async () => {
  using small = makeSmallHost();
  const { host, sessionId, ids } = await beginWaiting(small, ["one", "two", "three"]);
  const [one, two, three] = ids as [string, string, string];
  const queue = await host.must("list_queued_prompts", { sessionId });
  assert.deepEqual(
    queue.prompts.map(({ messageId, type, by, holds }) => [messageId, type, by, holds]),
    ids.map((messageId) => [messageId, "prompt", "usr_ada", []]),
  );
  const move = async (messageId: string, beforeMessageId: string | null) =>
    textsIn(await host.must("move_queued_prompt", { sessionId, messageId, beforeMessageId }));
  assert.deepEqual(await move(three, one), ["three", "one", "two"]);
  assert.deepEqual(await move(three, one), ["three", "one", "two"], "it is there already");
  assert.deepEqual(await move(one, null), ["three", "two", "one"]);
  const { version } = await host.must("list_queued_prompts", { sessionId });
  const update = { sessionId, messageId: two, text: "TWO", version };
  assert.deepEqual(textsIn(await host.must("update_queued_prompt", update)), [
    "three",
    "TWO",
    "one",
  ]);
  const left = await host.must("remove_queued_prompt", { sessionId, messageId: three });
  assert.deepEqual(textsIn(left), ["TWO", "one"]);
  assert.deepEqual(loggedQueue(host, sessionId), ["TWO", "one"]);
  const dropped = await host.until(sessionId, "prompt_dropped");
  assert.deepEqual([dropped.messageId, dropped.cause], [three, "removed"]);
  const again = await host.ask("remove_queued_prompt", { sessionId, messageId: three });
  assert.equal(codeOf(again), "not_found");
  const moved = host
    .entries(sessionId)
    .filter(({ update: { sessionUpdate } }) => sessionUpdate === "prompt_moved");
  assert.equal(moved.length, 2, "a prompt that stays where it is causes no entry");
  await host.must("send_queued_prompt_now", { sessionId, messageId: two });
  await untilRun(host, sessionId, "one");
  assert.deepEqual(runIn(host, sessionId).slice(1), ["TWO", "one"]);
  assert.deepEqual(loggedQueue(host, sessionId), []);
  await host.close();
});

test("a text that was changed meanwhile is not overwritten, and both texts can be read", async () => {
  using small = makeSmallHost();
  const { host, sessionId, ids } = await beginWaiting(small, ["one", "two"]);
  const [one, two] = ids as [string, string];
  const { version } = await host.must("list_queued_prompts", { sessionId });
  // Another prompt that is changed is no conflict.
  await host.must("update_queued_prompt", { sessionId, messageId: two, text: "TWO", version });
  await host.must("update_queued_prompt", { sessionId, messageId: one, text: "ada", version });
  const late = { sessionId, messageId: one, text: "bo", version };
  assert.equal(codeOf(await host.ask("update_queued_prompt", late)), "prompt_changed");
  const queue = await host.must("list_queued_prompts", { sessionId });
  assert.deepEqual(textsIn(queue), ["ada", "TWO"]);
  // Repeated by a caller who did not get the answer.
  await host.must("update_queued_prompt", { ...late, text: "ada" });
  await host.must("update_queued_prompt", { ...late, version: queue.version });
  assert.deepEqual(loggedQueue(host, sessionId), ["bo", "TWO"]);
  const command = { sessionId, command: "greet", arguments: "now" };
  const { messageId } = await host.must("run_command", command);
  const edit = { sessionId, messageId, text: "x", version: 1e6 };
  assert.equal(codeOf(await host.ask("update_queued_prompt", edit)), "invalid_input");
  const { prompts } = await host.must("list_queued_prompts", { sessionId });
  assert.deepEqual([prompts[2]!.type, prompts[2]!.text], ["command", "/greet now"]);
  await host.close();
});

test("a held prompt never runs, and those behind it wait too", async () => {
  using small = makeSmallHost();
  const { host, sessionId, ids } = await beginWaiting(small, ["one", "two"]);
  const [one, two] = ids as [string, string];
  const hold = (held: boolean, ownerId: string) =>
    host.must("hold_queued_prompt", { sessionId, messageId: one, held, ownerId });
  await hold(true, ada);
  const held = await hold(true, bo);
  assert.deepEqual(
    held.prompts[0]!.holds.map(({ by }) => by),
    ["usr_ada", "usr_bo"],
  );
  const { requestId, shownHash } = await host.until(sessionId, "request_raised");
  const answer = { requestId, shownHash, answer: "once" as const, answers: null };
  await host.must("answer_request", { sessionId, ...answer });
  await host.until(sessionId, "turn_finished");
  await hold(false, bo);
  const now = { sessionId, messageId: one, ownerId: bo };
  assert.equal(codeOf(await host.ask("send_queued_prompt_now", now)), "prompt_held");
  assert.deepEqual(runIn(host, sessionId).slice(1), []);
  // A daemon that starts again knows of the hold.
  await host.close();
  const next = small.open();
  assert.deepEqual(textsIn(await next.must("list_queued_prompts", { sessionId })), ["one", "two"]);
  await next.must("move_queued_prompt", { sessionId, messageId: two, beforeMessageId: one });
  await untilRun(next, sessionId, "two");
  assert.deepEqual(runIn(next, sessionId).slice(1), ["two"], "one that is not held passes it");
  const { version } = await next.must("list_queued_prompts", { sessionId });
  const save = { sessionId, messageId: one, text: "ONE", version, ownerId: ada };
  await next.must("update_queued_prompt", save);
  await untilRun(next, sessionId, "ONE");
  await next.close();
});

test("a hold ends by itself when its holder is gone", async () => {
  using small = makeSmallHost();
  let later = 0;
  const now = () => Date.now() + later;
  const { host, sessionId, ids } = await beginWaiting(small, ["one"], { now });
  await host.must("hold_queued_prompt", { sessionId, messageId: ids[0]!, held: true });
  later = 59_800;
  const { requestId, shownHash } = await host.until(sessionId, "request_raised");
  const answer = { requestId, shownHash, answer: "once" as const, answers: null };
  await host.must("answer_request", { sessionId, ...answer });
  await untilRun(host, sessionId, "one");
  await host.close();
});

test("a hold lasts a minute by any clock", () => {
  const holds = holdsAfter({}, "usr_ada", true, 1_000);
  assert.equal(heldForMs({ holds }, 1_000), 60_000);
  assert.equal(heldForMs({ holds }, 61_000), 0);
  assert.equal(heldForMs({ holds }, 0), 0, "the clock was set back");
  const renewed = holdsAfter({ holds }, "usr_ada", true, 31_000);
  assert.deepEqual(renewed, [{ by: "usr_ada", until: 91_000 }]);
  assert.deepEqual(holdsAfter({ holds: renewed }, "usr_ada", false, 31_000), []);
});

test("a prompt that is sent now stops the running turn and runs next; the others stay", async () => {
  using small = makeSmallHost();
  const { host, sessionId, running, ids } = await beginWaiting(small, ["one", "two", "three"]);
  await host.must("hold_queued_prompt", {
    sessionId,
    messageId: ids[2]!,
    held: true,
    ownerId: ada,
  });
  const now = { sessionId, messageId: ids[2]!, ownerId: ada };
  const queue = await host.must("send_queued_prompt_now", now);
  assert.deepEqual(textsIn(queue), ["three", "one", "two"]);
  assert.equal((await host.until(sessionId, "request_settled")).outcome, "withdrawn");
  await untilRun(host, sessionId, "two");
  assert.deepEqual(runIn(host, sessionId).slice(1), ["three", "one", "two"]);
  assert.deepEqual(outcomesIn(host, sessionId), ["aborted", "completed", "completed", "completed"]);
  const [aborted] = host
    .entries(sessionId)
    .filter(({ update }) => update.sessionUpdate === "turn_finished");
  assert.equal(aborted!.turnId, running.turnId);
  assert.ok(
    host.entries(sessionId).every(({ update }) => update.sessionUpdate !== "prompt_dropped"),
  );
  assert.equal(codeOf(await host.ask("send_queued_prompt_now", now)), "not_found");
  await host.close();
});

test("a prompt that is still on its way to the agent waits for one that is sent now", async () => {
  using small = makeSmallHost();
  const gate = Promise.withResolvers<void>();
  let checks = 0;
  const { host: next, sessionId } = await begin(small, {
    wrapDriver: (driver) => ({
      ...driver,
      async findProjectConfig(directory) {
        // At the start of the session, with the first prompt, and before its delivery.
        if (++checks === 3) await gate.promise;
        return driver.findProjectConfig(directory);
      },
    }),
  });
  await next.must("send_prompt", { sessionId, text: "first" });
  const { messageId } = await next.must("send_prompt", { sessionId, text: "second" });
  assert.deepEqual(textsIn(await next.must("list_queued_prompts", { sessionId })), ["second"]);
  const queue = await next.must("send_queued_prompt_now", { sessionId, messageId });
  assert.deepEqual(textsIn(queue), ["second", "first"]);
  assert.deepEqual(loggedQueue(next, sessionId), ["second", "first"]);
  gate.resolve();
  await untilRun(next, sessionId, "first");
  assert.deepEqual(runIn(next, sessionId), ["second", "first"]);
  await next.close();
});

test("a daemon that died while it stopped a turn stops it when it starts again", async () => {
  using small = makeSmallHost();
  const { host, sessionId, ids } = await beginWaiting(small, ["one", "two"], {
    wrapDriver: (driver) => ({
      ...driver,
      async start(...given) {
        const session = await driver.start(...given);
        return { ...session, abort: () => new Promise(() => {}) };
      },
    }),
  });
  await host.must("send_queued_prompt_now", { sessionId, messageId: ids[1]! });
  await host.close();
  const next = small.open();
  await untilRun(next, sessionId, "one");
  assert.deepEqual(runIn(next, sessionId).slice(1), ["two", "one"]);
  assert.equal(outcomesIn(next, sessionId)[0], "aborted");
  await next.close();
});
