// Restoring parked sessions: until the new session counts, every failure leaves a way back.
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "@hawser/testkit/until.ts";
import { write } from "@hawser/testkit/generated-trees.ts";
import {
  begin,
  git,
  makeSessionId,
  makeSmallHost,
  policy,
  type OpenHost,
  type SmallHost,
} from "@hawser/testkit/small-host.ts";

/** A parked tree was moved back for a new session that does not count yet. */
async function restoreHalf(small: SmallHost) {
  const { host, sessionId: parkedId } = await begin(small);
  const place = host.journal.driven.get(parkedId)!.directory;
  write(place, "work.txt", "work\n");
  git(place, "add", ".");
  git(place, "commit", "--quiet", "--message=work");
  write(place, "untracked.txt", "more\n");
  await host.must("end_session", { sessionId: parkedId });
  const heirId = makeSessionId();
  const wanted = { sessionId: heirId, parkedId, policy, author: null };
  const conclude = await host.sessions.restore(wanted, AbortSignal.timeout(30_000));
  assert.ok(existsSync(place));
  return { host, place, parkedId, heirId, conclude };
}

/** Checks that the next daemon undoes the restore, and that the complete tree is parked under this id. */
async function checkWayBack(small: SmallHost, host: OpenHost, heirId: string, keptAs: string) {
  const place = host.journal.driven.get(heirId)!.directory;
  await host.close();
  const next = small.open();
  await until("the start undone", () => next.journal.driven.get(heirId) === undefined);
  assert.equal(existsSync(place), false);
  const { parkedSessions } = await next.must("list_parked_sessions", {});
  assert.deepEqual(
    parkedSessions.map(({ sessionId }) => sessionId),
    [keptAs],
  );
  const again = { sessionId: makeSessionId(), parkedId: keptAs, policy, author: null };
  await next.must("restore_session", again);
  assert.equal(git(place, "log", "-1", "--format=%s"), "work\n");
  assert.equal(readFileSync(join(place, "untracked.txt"), "utf8"), "more\n");
  await next.close();
}

test("a restored session that could not be recorded is parked again", async () => {
  using small = makeSmallHost();
  const { host, parkedId, heirId, conclude } = await restoreHalf(small);
  const full = new Error("The disk is full.");
  const commit = () =>
    host.journal.atOnce(() => {
      conclude();
      throw full;
    });
  assert.throws(commit, full);
  // Enough time for follow-ups of the commit.
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(host.journal.driven.get(heirId)?.state, "starting");
  await checkWayBack(small, host, heirId, parkedId);
});

test("a tree that is being restored is not deleted, whatever the size limit", async () => {
  using small = makeSmallHost();
  const { host, parkedId, heirId } = await restoreHalf(small);
  appendFileSync(join(small.directory, "policy"), "parked-gib = 0\n");
  await host.sessions.cleanParked();
  await checkWayBack(small, host, heirId, parkedId);
});

test("a tree whose parked record is gone is parked for the session that was to get it", async () => {
  using small = makeSmallHost();
  const { host, parkedId, heirId } = await restoreHalf(small);
  rmSync(join(small.directory, "state", "parked", parkedId), { recursive: true });
  await checkWayBack(small, host, heirId, heirId);
});
