// The events of an organization: while the database hangs no stream ends and nothing that arrives late
// hurts the node; a viewer that falls behind reads a resync and the newest events.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { parseId, type Permission } from "@hawser/contract";
import { holdRow, waitingStatements } from "@hawser/testkit/hold-row.ts";
import {
  createTestOrganization,
  makeKey,
  type TestOrganization,
} from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { until } from "@hawser/testkit/until.ts";
import type { Hono } from "hono";
import { createAuthenticator, type Authenticator } from "./access/authenticate.ts";
import { createReadCounts } from "./audit/read-counts.ts";
import { createDispatcher } from "./dispatch/dispatcher.ts";
import { createTokenBuckets } from "./dispatch/token-bucket.ts";
import type { FeedEvent } from "./events/organization-feed.ts";
import { createLog } from "./log.ts";
import { keysOnly } from "./transports/credentials.ts";
import { eventStreamTransport, type Feed } from "./transports/event-stream.ts";
import { createKeyWatch } from "./transports/key-watch.ts";

let service: ServiceDatabase;
let organization: TestOrganization;
let authenticator: Authenticator;
let app: Hono;
/** The same stream; its keys are checked many times a second. */
let checkedOften: Hono;
const viewers = new Set<Parameters<Feed["follow"]>[1]>();

before(async () => {
  // A check that hangs has failed before the next one.
  service = await openServiceDatabase({ patienceMs: 1_500 });
  const { database } = service;
  organization = await createTestOrganization(database, "Acme", "ada@acme.example");
  authenticator = createAuthenticator(database.system);
  const dispatcher = createDispatcher({
    actions: {},
    handlers: {},
    services: {},
    database,
    authenticate: ({ authorization }, options) =>
      authenticator.authenticate(authorization, options),
    buckets: createTokenBuckets({ perSecond: 100, burst: 100 }),
    pepper: randomBytes(32),
    readCounts: createReadCounts(database.system),
    log: createLog("silent"),
    observe: () => {},
  });
  const feed: Feed = {
    mayFollow: ({ permissions }) => permissions.size > 0,
    maySee: ({ permissions }, event) =>
      event.type === "resync" || permissions.has(`${event.record as "instance"}s:view`),
    follow(_organizationId, viewer) {
      viewers.add(viewer);
      return () => viewers.delete(viewer);
    },
    settled: () => Promise.resolve(),
  };
  // These requests have no connection that could be counted.
  const unlimited = { during: () => () => undefined };
  const stream = (everyMs: number) =>
    eventStreamTransport(
      dispatcher,
      feed,
      unlimited,
      keysOnly,
      createKeyWatch({ everyMs, unjudgedMs: 60_000 }),
    );
  app = stream(2_500);
  checkedOften = stream(50);
});
after(() => service[Symbol.asyncDispose]());

/** A stream whose key is not cached. */
async function follow(name: string, on = app, permissions: Permission[] = ["instances:view"]) {
  const key = await makeKey(service.database, organization.organizationId, permissions, { name });
  const response = await on.request(
    "/api/events",
    {
      headers: { authorization: `Bearer ${key}` },
    },
    {},
  );
  assert.equal(response.status, 200);
  authenticator.forget(parseId("organization", organization.organizationId)!);
  return response.body!.pipeThrough(new TextDecoderStream()).getReader();
}

const changed = (i: number): FeedEvent => ({
  type: "changed",
  record: "instance",
  id: `ins_${i}`,
});
const frame = (event: FeedEvent) => `event: ${event.type}\ndata: ${JSON.stringify(event)}`;

const holdKeys = () => holdRow(service.url, "LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE");
const revoke = (name: string) =>
  ownerSql(service.url, "UPDATE api_keys SET revoked_at = now() WHERE name = $1", [name]);
const waiting = async (count: number) => (await waitingStatements(service.url)) === count;

test("a database that hangs ends no stream, and the key counts again when it is back", async () => {
  const stream = await follow("hung");
  let text = "";
  let isOver = false;
  const reading = (async () => {
    for (;;) {
      const { done, value } = await stream.read();
      if (done) break;
      text += value;
    }
    isOver = true;
  })();
  {
    await using _held = await holdKeys();
    await until("a look that hangs", () => waiting(1), 5_000);
    await until("its giving up", () => waiting(0), 5_000);
    await until("the next look", () => waiting(1), 5_000);
    assert.equal(isOver, false);
  }
  for (const viewer of viewers) viewer(changed(1));
  await until("the event", () => text.includes("event: changed"));
  await revoke("hung");
  await until("the end", () => isOver, 9_000);
  await reading;
  assert.equal(viewers.size, 0);
});

test("a viewer that falls behind reads a resync, and then the newest events at once", async () => {
  const stream = await follow("behind");
  let text = (await stream.read()).value!;
  assert.equal(text, "retry: 1000\n\n");
  for (let i = 0; i < 1_000; i++) {
    for (const viewer of viewers) viewer(changed(i));
  }
  while (!text.includes(frame(changed(999)))) text += (await stream.read()).value!;
  const frames = text.split("\n\n").slice(1, -1);
  const resync = frames.indexOf('event: resync\ndata: {"type":"resync"}');
  assert.equal(frames.lastIndexOf(frames[resync]!), resync, "one resync");
  const newest = Array.from({ length: 256 }, (_, i) => frame(changed(744 + i)));
  assert.deepEqual(frames.slice(resync + 1), newest);
  assert.deepEqual(
    frames.slice(0, resync),
    frames.slice(0, resync).map((_, i) => frame(changed(i))),
  );
  await stream.cancel();
  await until("its leaving", () => viewers.size === 0);
});

test("a viewer may leave while its key is being refused", async () => {
  const stream = await follow("left");
  await revoke("left");
  {
    await using _held = await holdKeys();
    await until("a look that hangs", () => waiting(1), 5_000);
    await stream.cancel();
    await until("its leaving", () => viewers.size === 0);
  }
  await until("the look's end", () => waiting(0));
  await new Promise((resolve) => setTimeout(resolve, 100));
});

test("a stream follows the permissions of now: it is narrowed, and ends when nothing is left", async () => {
  const stream = await follow("narrowed", checkedOften, ["instances:view", "sessions:view"]);
  let text = "";
  let isOver = false;
  const reading = (async () => {
    for (;;) {
      const { done, value } = await stream.read();
      if (done) break;
      text += value;
    }
    isOver = true;
  })();
  const permit = (permissions: string[]) =>
    ownerSql(service.url, "UPDATE api_keys SET permissions = $1 WHERE name = 'narrowed'", [
      permissions,
    ]);
  const session: FeedEvent = { type: "changed", record: "session", id: "ses_1" };
  const count = (event: FeedEvent) => text.split(frame(event)).length - 1;
  const send = (...events: FeedEvent[]) => {
    for (const viewer of viewers) events.forEach(viewer);
  };
  send(session, changed(1));
  await until("both events", () => count(session) === 1 && count(changed(1)) === 1);
  await permit(["instances:view"]);
  const shown = async () => {
    const before = count(session);
    send(session, changed(2));
    await until("the event that may be seen", () => count(changed(2)) > 0);
    text = text.replace(frame(changed(2)), "");
    return count(session) > before;
  };
  await until("the end of events of sessions", async () => !(await shown()), 5_000);
  assert.equal(isOver, false);
  await permit([]);
  await until("the end", () => isOver);
  await reading;
  assert.equal(viewers.size, 0);
});
