// The client as its users run it: examples/first-session.ts, in a process of its own, through a load balancer
// before two nodes, one of which is killed in the middle of a call. And the advice of the real service.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createClient } from "@hawser/client";
import { startBalancer } from "@hawser/testkit/balancer.ts";
import { runProgram } from "../run-program.ts";
import { scenario, useWorld } from "../scenario.ts";
import {
  bash,
  logOf,
  scripted,
  startSession,
  untilAsked,
  updatesOf,
  warmUp,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

const example = fileURLToPath(new URL("../../examples/first-session.ts", import.meta.url));

/** Where in a call the node dies: `received`, before it has answered; `answered`, when the effect exists. */
const deaths = [
  ["start_session", "answered"],
  ["send_prompt", "answered"],
  ["answer_permission", "answered"],
  ["send_prompt", "received"],
] as const;

for (const [action, moment] of deaths) {
  scenario(
    `The example has one session, one turn and one answer although its node dies when it has ${moment} ${action}`,
    [],
    async ({ world, caller }) => {
      await warmUp(caller, world.hosts[0]!.instanceId);
      const victim = await world.addNode();
      const [survivor] = world.nodes;
      await using balancer = await startBalancer(() => [victim, survivor!]);
      let strikes = 0;
      balancer.strikeAt(action, moment, () => {
        strikes += 1;
        process.kill(victim.pid, "SIGKILL");
      });
      const before = await caller.list_sessions({ limit: 200 });

      const prompt = scripted("Make a file.", bash("echo made > made.txt"), { text: "Made." });
      const { code, output } = await runProgram([example, prompt], {
        HAWSER_URL: balancer.url,
        HAWSER_KEY: caller.key,
      });
      assert.equal(code, 0, output);
      assert.equal(strikes, 1, "the node was killed");

      const after = await caller.list_sessions({ limit: 200 });
      assert.equal(after.sessions.length, before.sessions.length + 1);
      const { sessionId, status } = after.sessions[0]!;
      assert.equal(status, "ended");
      const log = await logOf(caller, sessionId);
      assert.equal(updatesOf(log, "turn_started").length, 1);
      assert.equal(updatesOf(log, "request_raised").length, 1);
      assert.deepEqual(
        updatesOf(log, "request_settled").map(({ outcome, answer }) => [outcome, answer]),
        [["answered", "once"]],
      );
      const end = log.findIndex(({ update }) => update.sessionUpdate === "turn_finished");
      const shown = log
        .slice(0, end + 1)
        .map(({ seq, update }) => `${seq} ${update.sessionUpdate}`);
      assert.deepEqual(output.trimEnd().split("\n"), [...shown, "made.txt +1 -0"]);
    },
  );
}

scenario(
  "A prompt that a full queue refuses is sent again under another key, and passes when there is room",
  [],
  async ({ world, caller }) => {
    const hawser = createClient({ url: world.baseUrl, key: caller.key, deadlineMs: 120_000 });
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    await hawser.send_prompt({
      sessionId,
      text: scripted("ask", bash("true"), { text: "Asked." }),
    });
    const { requestId } = await untilAsked(caller, sessionId);
    const next = { sessionId, text: scripted("next", { text: "Next." }) };
    for (let waiting = 0; waiting < 20; waiting++) await hawser.send_prompt(next);
    const sendWithKey = () => caller.try("send_prompt", next, { "idempotency-key": "one-of-ours" });
    assert.equal((await sendWithKey()).body.error?.code, "queue_full");

    const sending = hawser.send_prompt(next).then(({ queued }) => queued);
    await caller.answer_permission({ requestId, answer: "once" });
    assert.equal(await sending, true);
    // The reason for another key: under the old one the refusal is the answer for a day.
    assert.equal((await sendWithKey()).body.error?.code, "queue_full");
    await caller.abort_session({ sessionId });

    const { lastSeq } = await caller.wait_for_session({ sessionId });
    const seen: number[] = [];
    for await (const { seq } of hawser.each("list_session_events", { sessionId, limit: 7 })) {
      seen.push(seq);
    }
    assert.deepEqual(
      seen,
      Array.from({ length: lastSeq }, (_, place) => place + 1),
    );
  },
);
