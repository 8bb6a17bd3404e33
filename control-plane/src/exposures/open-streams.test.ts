// Places for requests and WebSockets: limits, waiting and cutting.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OpenExposure } from "./open-exposure.ts";
import { createOpenStreams, streamLimits, type Place } from "./open-streams.ts";

const exposure: OpenExposure = {
  exposureId: "exp_1",
  organizationId: "org_1",
  apiKeyId: "key_1",
  instanceId: "ins_1",
  scope: { kind: "instance" },
  passwordHash: Buffer.alloc(32),
  expiresAt: 7,
  port: null,
};
const other = { ...exposure, exposureId: "exp_2" };

function entered(place: Place | string): Place {
  if (typeof place === "string") assert.fail(place);
  return place;
}

/** Why there is no place. */
function refused(place: Place | string): string {
  if (typeof place !== "string") assert.fail("There is a place.");
  return place;
}

test("a request waits for a place, and the next one gets it", async () => {
  const streams = createOpenStreams({ ...streamLimits, streams: 1, waitMs: 5_000 });
  const first = entered(await streams.enter(exposure, "request"));
  const waiting = streams.enter(exposure, "request");
  entered(await streams.enter(other, "request")).leave();
  first.leave();
  first.leave();
  const second = entered(await waiting);
  assert.equal(streams.size(), 1);
  assert.deepEqual([...streams.open()], [["exp_1", 7]]);
  second.leave();
  assert.deepEqual([streams.size(), streams.open().size], [0, 0]);
});

test("a cut ends the streams of one exposure, and refuses those that wait", async () => {
  const streams = createOpenStreams({ ...streamLimits, streams: 1, waitMs: 5_000 });
  const ended: string[] = [];
  const first = entered(await streams.enter(exposure, "request"));
  first.onCut(() => {
    ended.push("first");
    first.leave();
  });
  entered(await streams.enter(other, "request")).onCut(() => ended.push("other"));
  const waiting = streams.enter(exposure, "request");
  streams.cut("exp_1");
  assert.match(refused(await waiting), /which is the limit/);
  assert.deepEqual(ended, ["first"]);
  const late = entered(await streams.enter(exposure, "request"));
  streams.cut("exp_1");
  late.onCut(() => ended.push("late"));
  assert.deepEqual(ended, ["first", "late"], "cut before it was told how");
});

test("the whole node has a limit", async () => {
  const streams = createOpenStreams({ ...streamLimits, ofNode: 1 });
  entered(await streams.enter(exposure, "request"));
  assert.match(refused(await streams.enter(other, "request")), /Try again in a moment/);
});

test("the bytes of an exposure are counted by the hour", async () => {
  let now = 0;
  const streams = createOpenStreams({ ...streamLimits, bytesPerHour: 100 }, () => now);
  const place = entered(await streams.enter(exposure, "request"));
  let isCut = false;
  place.onCut(() => (isCut = true));
  place.count(99);
  assert.equal(isCut, false);
  place.count(1);
  assert.equal(isCut, true);
  assert.match(refused(await streams.enter(exposure, "request")), /bytes/);
  now = 3_600_000;
  entered(await streams.enter(exposure, "request"));
});

test("an organization has a share of the places of a node", async () => {
  const streams = createOpenStreams({ ...streamLimits, ofOrganization: 2, ofNode: 3 });
  const first = entered(await streams.enter(exposure, "request"));
  entered(await streams.enter(other, "request"));
  assert.match(refused(await streams.enter(exposure, "request")), /of this organization/);
  const foreign = { ...exposure, exposureId: "exp_3", organizationId: "org_2" };
  entered(await streams.enter(foreign, "request"));
  assert.match(refused(await streams.enter(foreign, "request")), /Too many connections/);
  first.leave();
  entered(await streams.enter(exposure, "request"));
});

test("a request that waited is cut like every other, also if all others left when it entered", async () => {
  const streams = createOpenStreams({ ...streamLimits, streams: 1, waitMs: 5_000 });
  const first = entered(await streams.enter(exposure, "request"));
  const waiting = streams.enter(exposure, "request");
  await Promise.resolve();
  first.leave();
  // Before the one that waited has its place.
  const second = streams.enter(exposure, "request");
  entered(await second).leave();
  let isCut = false;
  entered(await waiting).onCut(() => (isCut = true));
  assert.ok(streams.open().has("exp_1"));
  streams.cut("exp_1");
  assert.ok(isCut);
});
