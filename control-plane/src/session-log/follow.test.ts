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

/** Follows a session on a node of its own, and records what the follower receives. */
function followed(sessionId: string, organizationId = bed.organizationId) {
  const session = { organizationId, sessionId: parseId("session", sessionId)! };
  const reads: string[] = [];
  const { database } = bed.service;
  const follows = createFollows({
    database: {
      system: database.system,
      tenant(whose) {
        reads.push("record");
        return database.tenant(whose);
      },
    },
    notices: bed.numbered,
  });
  const heard: unknown[] = [];
  const follower: Follower = {
    applied: (seq) => heard.push(seq),
    recordChanged: () => heard.push("record"),
    gone: () => heard.push("gone"),
  };
  return {
    session,
    follows,
    heard,
    reads,
    follower,
    unfollow: follows.follow(session, follower),
    title: async () => {
      const record = await follows.readRecord(session);
      return record && (JSON.parse(record.text) as { title: string | null }).title;
    },
  };
}

const rename = (sessionId: string, title: string) =>
  bed.sql(`UPDATE sessions SET title = $2 WHERE session_id = $1`, [
    parseId("session", sessionId),
    title,
  ]);

test("a lost notice is made up for by the comparison, and a deleted session ends it", async () => {
  const sessionId = await bed.addSession();
  const { session, follows, heard, unfollow } = followed(sessionId);
  await bed.report(sessionId, { sessionUpdate: "plan" });
  bed.notices.isDeaf = true;
  await bed.report(sessionId, { sessionUpdate: "plan" });
  bed.notices.isDeaf = false;
  assert.deepEqual(heard, [1]);
  await follows.compare();
  bed.viewers.notify(bed.organizationId, { sessions: [sessionId] });
  assert.deepEqual(heard.slice(0, 3), [1, 2, "record"]);
  await bed.sql(`UPDATE sessions SET deleted_at = now() WHERE session_id = $1`, [
    session.sessionId,
  ]);
  await follows.compare();
  assert.equal(heard.at(-1), "gone");
  unfollow();
  const { length } = heard;
  await follows.compare();
  assert.equal(heard.length, length);
});

test("a change of the record whose notice is lost is found by the comparison, once", async () => {
  const sessionId = await bed.addSession();
  const { follows, heard, title, unfollow } = followed(sessionId);
  assert.equal(await title(), null);
  await follows.compare();
  assert.deepEqual(heard, [0]);
  await rename(sessionId, "Renamed");
  assert.equal(await title(), null, "no change is known");
  await follows.compare();
  await follows.compare();
  assert.deepEqual(heard, [0, "record", 0, 0]);
  assert.equal(await title(), "Renamed");
  await bed.sql(`UPDATE sessions SET activity = 'running', applied_seq = 1 WHERE session_id = $1`, [
    parseId("session", sessionId),
  ]);
  await follows.compare();
  assert.deepEqual(heard.slice(4), [1], "the record does not contain what has changed");
  unfollow();
});

test("whether the host is reachable is part of the record", async () => {
  const sessionId = await bed.addSession();
  const { follows, heard, title, unfollow } = followed(sessionId);
  await title();
  await bed.sql(`UPDATE instances SET status = 'offline'`);
  await follows.compare();
  await bed.sql(`UPDATE instances SET status = 'online'`);
  assert.deepEqual(heard, ["record", 0]);
  unfollow();
});

test("a gap in the notices is compared at once", async () => {
  const sessionId = await bed.addSession();
  const { heard, title, unfollow } = followed(sessionId);
  await title();
  await bed.report(sessionId, { sessionUpdate: "plan" });
  bed.notices.isDeaf = true;
  bed.viewers.notify(bed.organizationId, { sessions: [sessionId] });
  await rename(sessionId, "Renamed");
  bed.notices.isDeaf = false;
  await bed.report(sessionId, { sessionUpdate: "plan" });
  await until("the record", () => heard.includes("record"));
  assert.equal(await title(), "Renamed");
  unfollow();
});

test("a thousand followers share one read per change, and none gets an outdated record", async () => {
  const sessionId = await bed.addSession();
  const { session, follows, reads, follower, title, unfollow } = followed(sessionId);
  const more = Array.from({ length: 999 }, () => follows.follow(session, { ...follower }));
  const all = () => Promise.all(Array.from({ length: 1_000 }, () => title()));
  assert.deepEqual([...new Set(await all())], [null]);
  assert.equal(reads.length, 1);
  for (const name of ["one", "two"]) {
    await rename(sessionId, name);
    bed.viewers.notify(bed.organizationId, { sessions: [sessionId] });
    assert.deepEqual([...new Set(await all())], [name]);
  }
  assert.equal(reads.length, 3);
  // A read that is under way when the next change is reported is too old for it.
  bed.viewers.notify(bed.organizationId, { sessions: [sessionId] });
  const early = title();
  bed.viewers.notify(bed.organizationId, { sessions: [sessionId] });
  await Promise.all([early, title(), title()]);
  assert.equal(reads.length, 5);
  for (const leave of [...more, unfollow]) leave();
});

test("a read that fails is not kept", async () => {
  const sessionId = await bed.addSession();
  const { database } = bed.service;
  let isDown = true;
  const follows = createFollows({
    database: {
      system: database.system,
      tenant(whose) {
        if (isDown) throw new Error("down");
        return database.tenant(whose);
      },
    },
    notices: bed.numbered,
  });
  const session = {
    organizationId: bed.organizationId,
    sessionId: parseId("session", sessionId)!,
  };
  const nothing = { applied: () => {}, recordChanged: () => {}, gone: () => {} };
  const unfollow = follows.follow(session, nothing);
  await assert.rejects(follows.readRecord(session), /down/);
  isDown = false;
  assert.equal((await follows.readRecord(session))?.appliedSeq, 0);
  unfollow();
});

test("who follows a session of another organization harms nobody who follows it rightly", async () => {
  const sessionId = await bed.addSession();
  const own = followed(sessionId);
  const stranger = followed(sessionId, crypto.randomUUID());
  await own.follows.compare();
  await stranger.follows.compare();
  assert.deepEqual([own.heard, stranger.heard], [[0], ["gone"]]);
  assert.equal(await stranger.title(), undefined);
  stranger.unfollow();
  await bed.report(sessionId, { sessionUpdate: "plan" });
  assert.deepEqual([own.heard, stranger.heard], [[0, 1], ["gone"]]);
  own.unfollow();
});
