// 3.2 Session groups: who stands where in the list of sessions, and with which mark.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionOverview } from "@hawser/client";
import { arrange, nothingArranged, type Arrangement } from "./arrange.ts";
import { groups, markOf } from "./words.ts";

const none = new Set<never>();
const all = new Set(groups);

const minute = (n: number) => new Date(Date.UTC(2026, 10, 15, 10, n)).toISOString();

function overview(sessionId: string, more: Partial<SessionOverview> = {}): SessionOverview {
  return {
    sessionId,
    status: "active",
    activity: "idle",
    reachable: true,
    openRequestCount: 0,
    oldestRequest: null,
    turnStartedAt: null,
    lastActivityAt: null,
    lastOutcome: null,
    lastOutcomeSeq: null,
    readSeq: 0,
    endedAt: null,
    createdAt: minute(0),
    ...more,
  } as SessionOverview;
}
const asking = (sessionId: string, n: number) =>
  overview(sessionId, {
    openRequestCount: 1,
    activity: "running",
    oldestRequest: { requestId: "r", type: "permission", title: "Run", raisedAt: minute(n) },
  });
const running = (sessionId: string, n: number) =>
  overview(sessionId, { activity: "running", turnStartedAt: minute(n) });
const idle = (sessionId: string, n: number) => overview(sessionId, { lastActivityAt: minute(n) });
const ended = (sessionId: string, n: number, status: SessionOverview["status"] = "ended") =>
  overview(sessionId, { status, endedAt: minute(n) });

const shown = (arrangement: Arrangement) =>
  Object.fromEntries(
    groups.map((group) => [
      group,
      arrangement[group].map(({ session }) => session.sessionId).join(" "),
    ]),
  );

test("3.2 Session groups: the oldest question first, else the newest first", () => {
  const arranged = arrange(
    nothingArranged,
    [
      asking("a9", 9),
      asking("a2", 2),
      running("r1", 1),
      overview("r5", { activity: "starting", turnStartedAt: minute(5) }),
      idle("i3", 3),
      { ...idle("i8", 8), status: "detached" },
      { ...idle("i4", 4), status: "error" },
      ended("e1", 1),
      ended("e6", 6, "cleanup_failed"),
    ],
    none,
  );
  assert.deepEqual(shown(arranged), {
    waiting: "a2 a9",
    running: "r5 r1",
    idle: "i8 i4 i3",
    ended: "e6 e1",
  });
});

test("3.2 Session groups: the order is that of the entry into the group", () => {
  const first = arrange(nothingArranged, [idle("a", 5), idle("b", 3)], none);
  const later = arrange(first, [idle("a", 5), idle("b", 9), idle("c", 7)], none);
  assert.equal(shown(later)["idle"], "c a b");
  const left = arrange(later, [idle("a", 5), running("b", 10), idle("c", 7)], none);
  assert.deepEqual([shown(left)["running"], shown(left)["idle"]], ["b", "c a"]);
  const back = arrange(left, [idle("a", 5), idle("b", 11), idle("c", 7)], none);
  assert.equal(shown(back)["idle"], "b c a");
});

test("3.2 Session groups: nothing moves while pointer or focus is inside, but the marks are true", () => {
  const before = arrange(nothingArranged, [running("a", 5), running("b", 3), idle("c", 1)], none);
  const now = [asking("b", 6), idle("c", 1), idle("d", 9)];
  const held = arrange(before, now, all);
  assert.deepEqual(shown(held), shown(before));
  assert.deepEqual(
    held.running.map(({ session }) => markOf(session).state),
    ["run", "ask"],
  );
  assert.deepEqual(shown(arrange(held, now, none)), {
    waiting: "b",
    running: "",
    idle: "d c",
    ended: "",
  });
});

test("3.2 Session groups: without a change the arrangement is the same, so nothing is drawn", () => {
  const sessions = [running("a", 5), idle("c", 1)];
  const before = arrange(nothingArranged, sessions, none);
  assert.equal(arrange(before, sessions, none), before);
  assert.equal(arrange(before, sessions, all), before);
});

for (const [what, session, mark] of [
  ["an open request", asking("s", 1), "ask"],
  ["running on a host that is reachable", running("s", 1), "run"],
  ["running on a host that is not", { ...running("s", 1), reachable: false }, "off"],
  [
    "at work when its host was lost",
    overview("s", { activity: "unknown", reachable: false }),
    "off",
  ],
  ["an error", overview("s", { status: "error" }), "err"],
  [
    "a turn that ended unseen",
    overview("s", { lastOutcome: "completed", lastOutcomeSeq: 9, readSeq: 8 }),
    "unread",
  ],
  [
    "a turn that failed unseen",
    overview("s", { lastOutcome: "failed", lastOutcomeSeq: 9, readSeq: 8 }),
    "err",
  ],
  [
    "a turn that was interrupted unseen",
    overview("s", { lastOutcome: "interrupted", lastOutcomeSeq: 9 }),
    "err",
  ],
  [
    "a turn that was seen",
    overview("s", { lastOutcome: "failed", lastOutcomeSeq: 9, readSeq: 9 }),
    "idle",
  ],
  [
    "a reader who is no person",
    overview("s", { lastOutcome: "completed", lastOutcomeSeq: 9, readSeq: null }),
    "idle",
  ],
  ["at rest without a process", overview("s", { status: "detached" }), "idle"],
  ["at rest on a host that is not reachable", overview("s", { reachable: false }), "idle"],
  ["over", ended("s", 1), "end"],
] as [string, SessionOverview, string][]) {
  test(`3.2 Session groups: the mark of ${what} is ${mark}`, () => {
    assert.equal(markOf(session).state, mark);
  });
}
