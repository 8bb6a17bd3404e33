// Watching text as it is written: one lease for all viewers, and every viewer receives it from its
// beginning.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "@hawser/contract";
import { liveSubject, type LiveText } from "@hawser/host-protocol";
import { until } from "@hawser/testkit/until.ts";
import { createLiveWatch } from "./live-watch.ts";

const watched = { instanceId: "ins_1", sessionId: "ses_1" };
const open = { itemId: "i", turnId: "t", kind: "message" as const, text: "Hel" };
const piece: LiveText = { ...open, text: "lo", offset: 3 };
const shown = (text: LiveText) => JSON.stringify({ sessionId: "ses_1", ...text });

function bench() {
  let take: ((message: { data: Uint8Array }) => void) | undefined;
  const subjects: string[] = [];
  const bench = {
    asked: 0,
    isAway: false,
    subjects,
    publish: (text: unknown) => take?.({ data: Buffer.from(JSON.stringify(text)) }),
    watch: createLiveWatch({
      renewEveryMs: 20,
      notices: {
        publish: () => {},
        subscribe(subject, _options, handle) {
          subjects.push(subject);
          take = handle;
          return () => (take = undefined);
        },
      },
      hosts: {
        read() {
          bench.asked += 1;
          if (bench.isAway) return Promise.reject(new Refusal("host_offline", "away"));
          return Promise.resolve({ open: [open] }) as never;
        },
      },
    }),
  };
  return bench;
}

test("each viewer gets the beginning once, then what is added; the last to leave ends the watch", async (t) => {
  const { watch, publish, subjects } = bench();
  const first: string[] = [];
  const second: string[] = [];
  const leave = watch.watch(watched, (text) => first.push(text));
  t.after(leave);
  await until("the first viewer has the beginning", () => first.length === 1);
  publish(piece);
  const leaveToo = watch.watch(watched, (text) => second.push(text));
  t.after(leaveToo);
  await until("the second viewer has the beginning", () => second.length === 1);
  publish({ nonsense: true });
  publish(piece);
  assert.deepEqual(first, [{ ...open, offset: 0 }, piece, piece].map(shown));
  assert.deepEqual(second, [{ ...open, offset: 0 }, piece].map(shown));
  assert.deepEqual(subjects, [liveSubject("ins_1", "ses_1")]);
  leave();
  leaveToo();
  publish(piece);
  assert.equal(first.length, 3);
});

test("the lease is renewed while someone watches, and not after", async (t) => {
  const bed = bench();
  const leave = bed.watch.watch(watched, () => {});
  t.after(leave);
  await until("the lease is renewed twice", () => bed.asked >= 3);
  leave();
  const asked = bed.asked;
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal(bed.asked, asked);
});

test("a host that was away sends the beginning again", async (t) => {
  const bed = bench();
  const seen: string[] = [];
  const leave = bed.watch.watch(watched, (text) => seen.push(text));
  t.after(leave);
  await until("the viewer has the beginning", () => seen.length === 1);
  bed.isAway = true;
  const { asked } = bed;
  await until("a renewal fails", () => bed.asked > asked);
  bed.isAway = false;
  await until("the viewer has the beginning again", () => seen.length === 2);
  await until("the lease is renewed once more", () => bed.asked > asked + 2);
  assert.equal(seen.length, 2);
});

test("a thousand viewers that join at once cost two requests, one after the other", async (t) => {
  const answers: ((open: object) => void)[] = [];
  let inFlight = 0;
  const watch = createLiveWatch({
    notices: { publish: () => {}, subscribe: () => () => {} },
    hosts: {
      read() {
        inFlight += 1;
        const answer = Promise.withResolvers<object>();
        answers.push(answer.resolve);
        return answer.promise.finally(() => (inFlight -= 1)) as never;
      },
    },
  });
  const seen = new Map<number, number>();
  const join = (viewer: number) =>
    watch.watch(watched, () => seen.set(viewer, (seen.get(viewer) ?? 0) + 1));
  const leave = [join(0)];
  t.after(() => leave.forEach((each) => each()));
  await until("the first request", () => answers.length === 1);
  for (let viewer = 1; viewer < 1_000; viewer++) leave.push(join(viewer));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([answers.length, inFlight], [1, 1]);
  answers[0]!({ open: [open] });
  await until("the second request", () => answers.length === 2);
  answers[1]!({ open: [open] });
  await until("everyone has the beginning", () => seen.size === 1_000);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([answers.length, [...new Set(seen.values())]], [2, [1]]);
});
