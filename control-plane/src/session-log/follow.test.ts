// Following a session's log: whatever happens to notices, entries arrive in order, each once, without a
// gap.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseId } from "@hawser/contract";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { until } from "@hawser/testkit/until.ts";
import { followLog, createFollows, type FollowedLog, type Follower } from "./follow.ts";
import type { LogRow } from "./follow-store.ts";

let bed: SessionBed;

before(async () => void (bed = await openSessionBed()));
after(() => bed[Symbol.asyncDispose]());

/** A session log in memory, whose notices the test sends. */
function memoryLog(count: number) {
  const rows: LogRow[] = [];
  const followers = new Set<Follower>();
  const add = (more: number) => {
    for (let n = 0; n < more; n++)
      rows.push({ seq: rows.length + 1, at: "", turn_id: null, update: "{}" });
  };
  add(count);
  let reads = 0;
  const log: FollowedLog = {
    follow(follower) {
      followers.add(follower);
      return () => followers.delete(follower);
    },
    settled: () => Promise.resolve(),
    async read(from) {
      reads += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return rows.slice(from, from + 7);
    },
    appliedSeq: () => Promise.resolve(rows.length),
  };
  const tell = (seq: number) => followers.forEach((each) => each.applied(seq));
  return { log, add, tell, rows, followers, reads: () => reads };
}

/** Random numbers, the same for the same seed. */
function chance(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

for (let seed = 1; seed <= 20; seed++) {
  test(`notices lost, repeated, late and out of order change nothing (seed ${seed})`, async () => {
    const pick = chance(seed);
    const start = pick(30);
    const after = pick(start + 1);
    const { log, add, tell, rows, followers } = memoryLog(start);
    const seen: number[] = [];
    const stop = new AbortController();
    const following = followLog(log, {
      after,
      signal: stop.signal,
      async entries(page) {
        seen.push(...page.map(({ seq }) => seq));
        if (pick(2)) await new Promise((resolve) => setImmediate(resolve));
      },
      recordChanged: () => {},
    });
    const late: number[] = [];
    for (let step = 0; step < 60; step++) {
      add(pick(4));
      const fate = pick(5);
      if (fate === 0) late.push(rows.length);
      else if (fate === 1 && late.length > 0) tell(late.splice(pick(late.length), 1)[0]!);
      else if (fate === 2) [rows.length, pick(rows.length + 1), rows.length].forEach(tell);
      else if (fate === 3) tell(rows.length);
      if (pick(3) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    // The comparison runs last.
    tell(rows.length);
    await until("all entries", () => seen.length >= rows.length - after, 2_000);
    stop.abort();
    await following;
    assert.deepEqual(
      seen,
      rows.slice(after).map(({ seq }) => seq),
    );
    assert.equal(followers.size, 0);
  });
}

test("a notice of more than there is makes nobody read for ever", async () => {
  const { log, tell, reads } = memoryLog(3);
  const stop = new AbortController();
  const following = followLog(log, {
    after: 0,
    signal: stop.signal,
    entries: () => {},
    recordChanged: () => {},
  });
  tell(1_000);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(reads() <= 4, String(reads()));
  stop.abort();
  await following;
});

test("a lost notice is made up for by the comparison, and a deleted session ends it", async () => {
  const sessionId = await bed.addSession();
  const id = parseId("session", sessionId)!;
  const follows = createFollows(bed.service.database.system, bed.notices);
  const heard: unknown[] = [];
  const unfollow = follows.follow(
    { organizationId: bed.organizationId, sessionId: id },
    {
      applied: (seq) => heard.push(seq),
      recordChanged: () => heard.push("record"),
      gone: () => heard.push("gone"),
    },
  );
  await bed.report(sessionId, { sessionUpdate: "plan" });
  bed.notices.isDeaf = true;
  await bed.report(sessionId, { sessionUpdate: "plan" });
  bed.notices.isDeaf = false;
  assert.deepEqual(heard, [1]);
  await follows.compare();
  bed.viewers.notify(bed.organizationId, { sessions: [sessionId] });
  assert.deepEqual(heard, [1, 2, "record"]);
  await bed.sql(`UPDATE sessions SET deleted_at = now() WHERE session_id = $1`, [id]);
  await follows.compare();
  assert.equal(heard.at(-1), "gone");
  unfollow();
  await follows.compare();
  assert.equal(heard.length, 4);
});

test("who follows a session of another organization harms nobody who follows it rightly", async () => {
  const sessionId = await bed.addSession();
  const id = parseId("session", sessionId)!;
  const follows = createFollows(bed.service.database.system, bed.notices);
  const heard: string[] = [];
  const followAs = (who: string, organizationId: string) =>
    follows.follow(
      { organizationId, sessionId: id },
      {
        applied: (seq) => heard.push(`${who} ${seq}`),
        recordChanged: () => {},
        gone: () => heard.push(`${who} gone`),
      },
    );
  const unfollow = [followAs("stranger", crypto.randomUUID()), followAs("own", bed.organizationId)];
  await follows.compare();
  assert.deepEqual(heard, ["stranger gone", "own 0"]);
  unfollow[0]!();
  await bed.report(sessionId, { sessionUpdate: "plan" });
  assert.deepEqual(heard.slice(2), ["own 1"]);
  unfollow[1]!();
});

test("after notices were lost everyone looks at the record again", async () => {
  const sessionId = await bed.addSession();
  const key = { organizationId: bed.organizationId, sessionId: parseId("session", sessionId)! };
  const follows = createFollows(bed.service.database.system, bed.notices);
  const heard: unknown[] = [];
  const unfollow = follows.follow(key, {
    applied: (seq) => heard.push(seq),
    recordChanged: () => heard.push("record"),
    gone: () => heard.push("gone"),
  });
  await follows.catchUp();
  assert.deepEqual(heard, ["record", 0]);
  unfollow();
});

test("without the fabric a log is read all the same", async () => {
  const never = { ...bed.notices, flush: () => new Promise<void>(() => {}) };
  const follows = createFollows(bed.service.database.system, never);
  const startedAt = performance.now();
  await follows.settled();
  assert.ok(performance.now() - startedAt < 2_000);
});
