import assert from "node:assert/strict";
import { test } from "node:test";
import { createFeed, isTouchedBy, readFeedEvent, type FeedEvent, type ResultKey } from "./feed.ts";

const changed = (record: string, id: string): FeedEvent => ({ type: "changed", record, id });

const keys: ResultKey[] = [
  ["search_sessions", {}],
  ["get_session_summary", { sessionId: "ses_1" }],
  ["get_session_summary", { sessionId: "ses_2" }],
  ["search_requests", { scope: "pending" }],
  ["search_instances", {}],
  ["get_instance", { instanceId: "ins_1" }],
  ["whoami", {}],
];

for (const [event, touched] of [
  [changed("session", "ses_1"), [0, 1]],
  [changed("request", "req_1"), [3]],
  [changed("instance", "ins_1"), [0, 4, 5]],
  [changed("instance", "ins_2"), [0, 4]],
  [changed("schedule", "sch_1"), []],
  [{ type: "resync" }, [0, 1, 2, 3, 4, 5, 6]],
] as [FeedEvent, number[]][]) {
  test(`${JSON.stringify(event)} touches the results that show it`, () => {
    const found = keys.flatMap((key, at) => (isTouchedBy(event, key) ? [at] : []));
    assert.deepEqual(found, touched);
  });
}

test("5 Resync of the feed: changes of a moment cause one round of reads", async () => {
  const rounds: boolean[][] = [];
  const feed = createFeed({
    refresh: (isTouched) => rounds.push(keys.map(isTouched)),
    gatherMs: 30,
  });
  for (let i = 0; i < 50; i++) feed.onEvent(changed("session", `ses_${i}`));
  feed.onEvent(changed("request", "req_1"));
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.deepEqual(rounds, [[true, true, true, true, false, false, false]]);
  feed.onEvent({ type: "resync" });
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.deepEqual(
    rounds[1],
    keys.map(() => true),
  );
  feed.stop();
});

test("what a host is asked for is read again once, after its record", async () => {
  const asked: ResultKey = ["list_parked_sessions", { instanceId: "ins_1" }];
  const record: ResultKey = ["get_instance", { instanceId: "ins_1" }];
  const rounds: boolean[][] = [];
  const feed = createFeed({
    refresh: (isTouched) => rounds.push([record, asked].map(isTouched)),
    gatherMs: 10,
    gatherOfHostsMs: 60,
  });
  for (let i = 0; i < 3; i++) {
    feed.onEvent(changed("instance", "ins_1"));
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  await new Promise((resolve) => setTimeout(resolve, 80));
  assert.deepEqual(
    rounds.filter(([, ofHost]) => ofHost),
    [[false, true]],
  );
  assert.ok(rounds.filter(([ofRecord]) => ofRecord).length > 1);
});

test("an event that this page does not know is ignored", () => {
  assert.equal(readFeedEvent("novel", "{}"), undefined);
  assert.deepEqual(readFeedEvent("resync", "{}"), { type: "resync" });
  const data = '{"type":"changed","record":"session","id":"ses_1","version":"x"}';
  assert.deepEqual(readFeedEvent("changed", data), changed("session", "ses_1"));
});
