// N35 and T28: events for receivers that fail at random, while a node is killed. The long run, with 10,000
// deliveries, is `npm run faults -- webhooks`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { check, runWebhookFaults } from "../faults/webhooks.ts";
import { tell } from "../figures.ts";

test("N35, T28: each event arrives, signed and in order, whichever receiver fails and node dies", async () => {
  const result = await runWebhookFaults({ seed: "slice", deliveries: 600 });
  const { median, p99 } = result.otherMs;
  tell(`another organization's events arrive after ${median} ms at the median, p99 ${p99} ms`);
  tell(`what the killed node was sending arrives after ${result.interruptedMs} ms`);
  assert.deepEqual(result.violations, []);
});

test("the check of such a run finds what is broken", () => {
  const event = (seq: number) => ({ session: "s", seq });
  const accept = (...seqs: number[]) => seqs.map((seq) => ({ ...event(seq), id: `d${seq}` }));
  const good = { webhook: "w", expected: [event(1), event(2)], forged: [] };
  const rulesOf = (accepted: ReturnType<typeof accept>, forged: string[] = []) =>
    check({ ...good, accepted, forged }).map(({ rule }) => rule);
  assert.deepEqual(rulesOf(accept(1, 2)), []);
  assert.deepEqual(rulesOf(accept(1, 1, 2, 1)), [], "a repeat is no violation");
  assert.deepEqual(rulesOf(accept(1)), ["every event arrives"]);
  assert.deepEqual(rulesOf(accept(2, 1)), ["the events of a session arrive in the order of seq"]);
  assert.deepEqual(rulesOf(accept(1, 2), ["d1"]), ["every message is signed"]);
});
