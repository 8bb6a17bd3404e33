// A key's calls are limited; the world's limit is small enough to be met.
import assert from "node:assert/strict";
import type { ErrorBody } from "@hawser/contract";
import { request } from "@hawser/testkit/caller.ts";
import { connectMcp } from "../mcp-client.ts";
import { refusalOf } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ environment: { HAWSER_RATE_PER_SECOND: "0.5", HAWSER_RATE_BURST: "5" } });

scenario(
  "A burst over the limit is refused without effect, with the time to wait, and affects one key only",
  ["general.rate_limit"],
  async ({ world, caller }) => {
    const [organization] = world.organizations;
    const busy = world.callerFor(await world.makeKey(organization, ["instances:edit"]));
    const calls = Array.from({ length: 20 }, (_, i) =>
      busy.try("create_instance", { name: `burst ${i}` }),
    );
    const replies = await Promise.all(calls);
    const done = replies.filter(({ status }) => status === 200);
    const refused = replies.filter(({ status }) => status === 429);
    assert.equal(done.length + refused.length, 20);
    assert.ok(done.length >= 5 && done.length <= 10, `${done.length} passed`);
    for (const reply of refused) {
      const { code, retryAfterMs = 0 } = refusalOf(reply);
      assert.equal(code, "rate_limited");
      assert.ok(retryAfterMs > 0 && retryAfterMs <= 2_000, String(retryAfterMs));
      const seconds = String(Math.ceil(retryAfterMs / 1000));
      assert.equal(reply.headers.get("retry-after"), seconds);
    }
    const { instances } = await caller.list_instances({});
    assert.equal(instances.length, done.length, "what was refused was not done");
    const other = world.callerFor(await world.makeKey(organization, []));
    const [whoami, ...mine] = await Promise.all([
      other.try("whoami"),
      ...calls.map(() => busy.try("create_instance", { name: "still too soon" })),
    ]);
    assert.equal(whoami.status, 200);
    assert.ok(mine.some(({ status }) => status === 429));
  },
);

scenario("After the wait the same call passes", [], async ({ world }) => {
  const caller = world.callerFor(await world.makeKey(world.organizations[0], []));
  const refused = await until(
    "the limit is met",
    5_000,
    () => caller.try("whoami"),
    ({ status }) => status === 429,
  );
  const { retryAfterMs = 0 } = refusalOf(refused);
  const again = until(
    "the limit is over",
    retryAfterMs + 3_000,
    () => caller.try("whoami"),
    ({ status }) => status === 200,
  );
  assert.equal((await again).status, 200);
});

scenario(
  "Listing actions and calling tools count against the same limit",
  [],
  async ({ world }) => {
    const key = await world.makeKey(world.organizations[0], []);
    const caller = world.callerFor(key);
    const listed = await Promise.all([1, 2, 3].map(() => caller.request("/api/rest/actions")));
    assert.ok(listed.every(({ status }) => status === 200));
    await using client = await connectMcp(world.baseUrl, key);
    const calls = Array.from({ length: 10 }, () =>
      client.callTool({ name: "whoami", arguments: {} }),
    );
    const refused = (await Promise.all(calls)).filter(({ isError }) => isError);
    assert.ok(refused.length >= 5, `${refused.length} of 10 were refused`);
    for (const { structuredContent } of refused) {
      const { error } = structuredContent as ErrorBody;
      assert.equal(error.code, "rate_limited");
      assert.ok(error.retryAfterMs! > 0);
    }
    const more = await Promise.all([1, 2, 3].map(() => caller.request("/api/rest/actions")));
    assert.ok(more.some(({ status }) => status === 429));
  },
);

scenario("A call with an invalid key counts against no limit", [], async ({ world }) => {
  const key = await world.makeKey(world.organizations[0], []);
  const altered = `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`;
  for (let i = 0; i < 10; i++) {
    const headers = { authorization: `Bearer ${altered}` };
    const call = { method: "POST", headers };
    assert.equal((await request(world.baseUrl, "/api/rest/actions/whoami", call)).status, 401);
  }
  assert.equal((await world.callerFor(key).try("whoami")).status, 200);
});
