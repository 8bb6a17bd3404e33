// Listing sessions from the database alone: order, limits, filters and pages. Rows are put there by
// testkit, because no host is needed to list them.
import assert from "node:assert/strict";
import type { SessionListEntry } from "@hawser/contract";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, useWorld, type Context } from "../scenario.ts";

useWorld();

const ids = (page: { sessions: SessionListEntry[] }) => page.sessions.map((s) => s.sessionId);

async function newInstance({ caller }: Context, name: string): Promise<string> {
  return (await caller.create_instance({ name })).instance.instanceId;
}

scenario("An organization without sessions lists none", [], async ({ caller }) => {
  assert.deepEqual(await caller.list_sessions({}), { sessions: [] });
  assert.deepEqual(await caller.search_sessions({}), {
    sessions: [],
    nextCursor: null,
    counts: null,
  });
});

scenario(
  "Fifty sessions are listed unless more are asked for",
  ["list_sessions.limit.default"],
  async ({ stranger, world }) => {
    const { instanceId } = (await stranger.create_instance({ name: "sixty" })).instance;
    await insertSessions(world, world.organizations[1], { instanceId, count: 60 });
    assert.equal((await stranger.list_sessions({})).sessions.length, 50);
    assert.equal((await stranger.list_sessions({ limit: 200 })).sessions.length, 60);
    assert.equal((await stranger.list_sessions({ limit: 1 })).sessions.length, 1);
    assert.equal((await stranger.search_sessions({})).sessions.length, 50);
  },
);

scenario("The newest session comes first", [], async (context) => {
  const { caller, world } = context;
  const instanceId = await newInstance(context, "ordered");
  const born: string[] = [];
  for (const title of ["a", "b", "c"]) {
    born.push(...(await insertSessions(world, world.organizations[0], { instanceId, title })));
  }
  const page = await caller.list_sessions({ instanceId });
  assert.deepEqual(ids(page), born.toReversed());
  assert.deepEqual(
    page.sessions.map(({ title }) => title),
    ["c", "b", "a"],
  );
});

scenario("A listed session shows what a list shows", [], async (context) => {
  const { caller, world } = context;
  const instanceId = await newInstance(context, "shown");
  const [sessionId] = await insertSessions(world, world.organizations[0], {
    instanceId,
    agentKind: "claude_code",
    title: "shown",
  });
  const [session] = (await caller.list_sessions({ instanceId })).sessions;
  const { createdAt, startedBy, ...rest } = session!;
  assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000);
  assert.equal(startedBy.type, "organization_key");
  assert.deepEqual(rest, {
    sessionId,
    instanceId,
    title: "shown",
    agentKind: "claude_code",
    directory: "/srv/code",
    worktreeBranch: null,
    status: "active",
    statusReason: null,
    statusMessage: null,
    reachable: false,
    cost: null,
    costIsEstimate: false,
    forkedFrom: null,
    endedAt: null,
  });
});

scenario("Instance and status narrow the list, alone and together", [], async (context) => {
  const { caller, world } = context;
  const [organization] = world.organizations;
  const [one, two] = [await newInstance(context, "one"), await newInstance(context, "two")];
  const statuses = ["active", "detached", "error", "ended", "cleanup_failed"] as const;
  const made = new Map<string, string[]>();
  for (const [instanceId, count] of [
    [one, 2],
    [two, 1],
  ] as const) {
    for (const status of statuses) {
      const born = await insertSessions(world, organization, { instanceId, status, count });
      made.set(`${instanceId} ${status}`, born.sort());
    }
  }
  for (const action of ["list_sessions", "search_sessions"] as const) {
    for (const status of statuses) {
      const both = await caller[action]({ instanceId: one, status });
      assert.deepEqual(ids(both).sort(), made.get(`${one} ${status}`), `${action} ${status}`);
      const all = await caller[action]({ status, limit: 200 });
      assert.ok(all.sessions.every((session) => session.status === status));
      const found = new Set(ids(all));
      for (const id of [one, two].flatMap((i) => made.get(`${i} ${status}`)!)) {
        assert.ok(found.has(id));
      }
    }
    assert.equal((await caller[action]({ instanceId: one })).sessions.length, 10);
    assert.equal((await caller[action]({ instanceId: two })).sessions.length, 5);
  }
});

scenario(
  "An unknown instance is refused, and not answered with an empty list",
  [],
  async (context) => {
    const { caller, stranger } = context;
    const theirs = (await stranger.create_instance({ name: "theirs" })).instance.instanceId;
    for (const action of ["list_sessions", "search_sessions"]) {
      for (const instanceId of ["no such id", "", theirs]) {
        assertRefused(await caller.try(action, { instanceId }), 404, "not_found", action);
      }
    }
    const mine = await newInstance(context, "empty");
    assert.deepEqual(await caller.list_sessions({ instanceId: mine }), { sessions: [] });
  },
);

scenario(
  "Pages join up to the whole list, and later sessions do not disturb them",
  [],
  async (context) => {
    const { caller, world } = context;
    const [organization] = world.organizations;
    const instanceId = await newInstance(context, "paged");
    const born = await insertSessions(world, organization, { instanceId, count: 23 });
    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await caller.search_sessions({
        instanceId,
        limit: 5,
        ...(cursor && { cursor }),
      });
      seen.push(...ids(page));
      cursor = page.nextCursor;
      await insertSessions(world, organization, { instanceId });
    } while (cursor);
    assert.deepEqual(seen, [...seen].sort().toReversed(), "newest first throughout");
    assert.deepEqual([...seen].sort(), born.sort());
  },
);

scenario("An instance counts and shows its active sessions", [], async (context) => {
  const { caller, world } = context;
  const [organization] = world.organizations;
  const instanceId = await newInstance(context, "counted");
  const active = await insertSessions(world, organization, { instanceId, count: 2 });
  await insertSessions(world, organization, { instanceId, status: "ended", count: 3 });
  const detail = await caller.get_instance({ instanceId });
  assert.equal(detail.activeSessionCount, 2);
  assert.deepEqual(ids({ sessions: detail.activeSessions }).sort(), active.sort());
});

scenario("A cursor that no page of sessions gave is refused", [], async (context) => {
  const { caller } = context;
  await newInstance(context, "cursor a");
  await newInstance(context, "cursor b");
  const foreign = (await caller.search_instances({ query: "cursor", limit: 1 })).nextCursor!;
  for (const cursor of ["", "x", foreign, Buffer.from('["x"]').toString("base64url")]) {
    assertInvalid(await caller.try("search_sessions", { cursor }), "cursor", cursor);
  }
});
