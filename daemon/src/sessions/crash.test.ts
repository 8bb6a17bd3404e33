// Kills the daemon before and after each of its commits, opens it again on what it left, and repeats
// what the control plane would repeat. The log has no gap and no repeat, and no prompt runs twice.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { CommandOutcome, HostCommand, PayloadOf } from "@hawser/host-protocol";
import { killAt } from "@hawser/testkit/killed-journal.ts";
import {
  git,
  makeSessionId,
  makeSmallHost,
  policy,
  script,
  type Entry,
  type OpenHost,
  type SmallHost,
} from "@hawser/testkit/small-host.ts";

// Every commit; without HAWSER_LONG every third one, each of the four tests beginning at another.
const stride = process.env["HAWSER_LONG"] === "1" ? 1 : 3;

const steps = [
  { calls: [{ tool: "permission", input: { title: "Run", detail: "ls", rules: ["ls"] } }] },
  { calls: [{ tool: "permission", input: { title: "Again", detail: "ls", rules: ["ls"] } }] },
  { text: "Done." },
];

/** The control plane's commands in order; each is repeated under its id until it is answered. */
interface Story {
  sessionId: string;
  ids: Map<string, string>;
  outcomes: Map<string, CommandOutcome>;
}

async function ask<Name extends HostCommand>(
  host: OpenHost,
  { ids, outcomes }: Story,
  step: string,
  command: Name,
  payload: PayloadOf<Name>,
): Promise<CommandOutcome | undefined> {
  const known = outcomes.get(step);
  if (known) return known;
  const id = ids.get(step) ?? randomUUID();
  ids.set(step, id);
  const outcome = await host.ask(command, payload, id);
  if (outcome) outcomes.set(step, outcome);
  return outcome;
}

/** Plays the rest of the story. Resolves at its end, or when the daemon is dead. */
async function play(
  small: SmallHost,
  host: OpenHost,
  story: Story,
  isDead: () => boolean,
): Promise<void> {
  const { sessionId } = story;
  const wanted = { kind: "opencode" as const, directory: small.repository, title: null, policy };
  await ask(host, story, "start", "start_session", { sessionId, ...wanted });
  for (const step of ["first", "second"]) {
    if (isDead()) return;
    const text = step === "first" ? script(steps) : script([{ text: "Second." }]);
    await ask(host, story, step, "send_prompt", { sessionId, text });
  }
  // Until every accepted command has had its effect.
  const deadline = performance.now() + 10_000;
  while (performance.now() < deadline && !isDead()) {
    const open = host.journal.driven.openRequests(sessionId).find(({ state }) => state === "open");
    if (open) {
      const { requestId, shownHash } = open;
      await ask(host, story, `answer ${requestId}`, "answer_request", {
        sessionId,
        requestId,
        shownHash,
        answer: "always",
        answers: null,
      });
    } else if (host.journal.driven.prompts(sessionId).length === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  if (isDead()) return;
  assert.deepEqual(host.journal.driven.prompts(sessionId), [], "the story came to its end");
  await ask(host, story, "end", "end_session", { sessionId });
}

function check(entries: Entry[], { outcomes }: Story, what: string): void {
  assert.deepEqual(
    entries.map(({ seq }) => seq),
    entries.map((_, index) => index + 1),
    what,
  );
  const of = (name: string, turnId: string) =>
    entries.filter(({ update, turnId: own }) => update.sessionUpdate === name && own === turnId)
      .length;
  const accepted = ["first", "second"].flatMap((step) => {
    const outcome = outcomes.get(step);
    return outcome && "result" in outcome ? [String(outcome.result["turnId"])] : [];
  });
  for (const turnId of accepted) {
    const started = of("turn_started", turnId);
    assert.equal(started + of("prompt_dropped", turnId), 1, `${what}: it ran once or was dropped`);
    assert.equal(of("turn_finished", turnId), started, `${what}: it ended once`);
    assert.equal(of("user_message_chunk", turnId), started, what);
  }
  const turns = new Set(entries.flatMap(({ turnId }) => turnId ?? []));
  assert.deepEqual(
    [...turns].sort(),
    [...accepted].sort(),
    `${what}: no turn that nobody asked for`,
  );
  const messages = entries.flatMap(({ update }) =>
    "messageId" in update && update.sessionUpdate.endsWith("_chunk") ? [update.messageId] : [],
  );
  assert.equal(new Set(messages).size, messages.length, `${what}: no message twice`);
  const raised = entries.flatMap(({ update }) =>
    update.sessionUpdate === "request_raised" ? [update.requestId] : [],
  );
  const settled = entries.flatMap(({ update }) =>
    update.sessionUpdate === "request_settled" ? [update.requestId] : [],
  );
  assert.deepEqual(settled.sort(), raised.sort(), `${what}: each request is settled once`);
}

// Most of the time they wait for git.
suite("a killed daemon", { concurrency: 2 }, () => {
  for (const isMade of [false, true]) {
    for (const agentDies of [false, true]) {
      const when = isMade ? "after" : "before";
      const who = agentDies ? "with its agent" : "alone";
      test(
        `the daemon is killed ${who} right ${when} each commit`,
        { timeout: 300_000 },
        async () => {
          let hasEnded = false;
          let count = (Number(isMade) + 2 * Number(agentDies)) % stride;
          for (; !hasEnded; count += stride) {
            assert.ok(count < 200, "the story has an end");
            using small = makeSmallHost();
            const story = { sessionId: makeSessionId(), ids: new Map(), outcomes: new Map() };
            const killer = killAt(count, isMade);
            const first = small.open({ wrapJournal: killer.wrapJournal });
            await Promise.race([
              killer.died,
              play(small, first, story, killer.isDead).catch((error: unknown) => {
                if (!killer.isDead()) throw error;
              }),
            ]);
            hasEnded = !killer.isDead();
            if (hasEnded) {
              await first.close();
              continue;
            }
            // The journal accepts no more writes, so this leaves no trace.
            await first.close();
            if (agentDies) small.agent.crash();
            const second = small.open();
            await play(small, second, story, () => false);
            const what = `commit ${count}`;
            check(second.entries(story.sessionId), story, what);
            assert.equal(second.journal.driven.list().length, 0, what);
            assert.deepEqual(readdirSync(join(small.directory, "state/worktrees")), [], what);
            assert.equal(git(small.repository, "branch", "--list", "hawser/*"), "", what);
            await second.close();
          }
          assert.ok(count > 20, `the story has only ${count} commits`);
        },
      );
    }
  }
});
