// Several tabs of one person in Chromium, and how many streams they read.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openFaked, sessionId } from "./faked-service.ts";
import { generatedEntry } from "./generated-log.ts";

const request = (requestId: string, title: string) => ({
  requestId,
  type: "permission",
  sessionId,
  instanceId: "ins_1",
  answerable: true,
  status: "pending",
  permission: { title, detail: null, alwaysRules: [] },
  questions: null,
  rule: null,
  answer: null,
  answers: null,
  answeredBy: null,
  raisedAt: "2026-11-15T10:00:00.000Z",
  resolvedAt: null,
});

test("5 Resync of the feed: five tabs of one browser read one stream; when the reading tab closes, another reads it and all look again", async () => {
  await using faked = await openFaked({ entryAt: generatedEntry, length: 1 });
  const { page, answers, feeds } = faked;
  let requests = [request("req_1", "Run the first command")];
  answers["search_requests"] = ({ scope }) => ({
    requests: scope === "pending" ? requests : [],
    nextCursor: null,
  });
  const shown = (tab: typeof page, text: string) => tab.getByText(text).first().waitFor();
  await faked.open("/inbox");
  await shown(page, "Run the first command");
  const others: (typeof page)[] = [];
  for (let tab = 2; tab <= 5; tab++) others.push(await faked.openTab("/inbox"));
  for (const tab of others) await shown(tab, "Run the first command");
  // Numbers of tabs: to print what differs between two tabs takes all memory.
  const reading = () => feeds().map((tab) => [page, ...others].indexOf(tab));
  /** The stream ends with each hint, and is connected again after a pause. */
  const readingAgain = async () => {
    for (let waited = 0; reading().length === 0 && waited < 30_000; waited += 50) {
      await others[0]!.waitForTimeout(50);
    }
    return reading();
  };
  assert.deepEqual(reading(), [0], "the first tab reads, and no other");

  requests = [request("req_2", "Run the second command")];
  faked.changed();
  for (const tab of [page, ...others]) await shown(tab, "Run the second command");
  assert.deepEqual(await readingAgain(), [0]);

  requests = [request("req_3", "Run the third command")];
  const next = faked.page.context().waitForEvent("request", {
    predicate: (each) => each.url().endsWith("/api/events"),
  });
  await page.close();
  const reader = (await next).frame().page();
  // The service accepts the connection, and names no change: the reader has all tabs read again.
  faked.changed();
  for (const tab of others) await shown(tab, "Run the third command");
  assert.ok(others.includes(reader), "one of the four reads");
  assert.deepEqual(
    [...new Set(await readingAgain())],
    [others.indexOf(reader) + 1],
    "and no other",
  );
});
