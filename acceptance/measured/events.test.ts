// GET /api/events: who may follow, which events are sent, and that a slow reader does not delay others.
import assert from "node:assert/strict";
import { parseId } from "@hawser/contract";
import { request } from "@hawser/testkit/caller.ts";
import { startDeafHost } from "@hawser/testkit/deaf-host.ts";
import { readEvents, stallAtEvents } from "@hawser/testkit/event-reader.ts";
import { openIntruder } from "@hawser/testkit/intruder.ts";
import { untilStatus } from "@hawser/testkit/host.ts";
import { tellTimes, tell } from "../figures.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ nodes: 2, nats: 1 });

scenario("Events are for keys that may see instances or sessions", [], async ({ world }) => {
  assertRefused(await request(world.baseUrl, "/api/events"), 401, "unauthenticated");
  const headers = { authorization: "Bearer nonsense" };
  assertRefused(await request(world.baseUrl, "/api/events", { headers }), 401, "unauthenticated");
  const [organization] = world.organizations;
  const weak = await world.makeKey(organization, ["sessions:edit", "instances:edit"]);
  assertRefused(await world.callerFor(weak).request("/api/events"), 403, "forbidden");
  await using _viewer = await readEvents(world.baseUrl, organization.keys.viewer);
});

scenario(
  "A host that connects or disconnects is reported on every node, to its own organization only",
  [],
  async ({ world, caller, stranger }) => {
    const [ours, theirs] = world.organizations;
    await using here = await readEvents(world.nodes[0]!.baseUrl, ours.keys.viewer);
    await using there = await readEvents(world.nodes[1]!.baseUrl, ours.keys.viewer);
    await using other = await readEvents(world.nodes[1]!.baseUrl, theirs.keys.owner);
    const delays: number[] = [];
    for (let i = 0; i < 10; i++) {
      let since = performance.now();
      const host = await startDeafHost(caller, world.baseUrl);
      const isIts = ({ type, id }: { type: string; id?: string }) =>
        type === "changed" && id === host.instanceId;
      for (const reader of [here, there]) await reader.until("it came", isIts, { since });
      // The first event reports the new record, the second the connected host.
      await untilStatus(caller, host.instanceId, "online");
      since = performance.now();
      host[Symbol.dispose]();
      for (const reader of [here, there]) {
        delays.push((await reader.until("it went", isIts, { since })).at - since);
      }
      await untilStatus(caller, host.instanceId, "offline", 1_000);
    }
    tellTimes("a host gone, reported to viewers", delays, 1_000);
    using _theirs = await startDeafHost(stranger, world.baseUrl);
    const { instanceId } = _theirs;
    await other.until("theirs came", ({ id }) => id === instanceId);
    assert.deepEqual([...new Set(other.events.map(({ id }) => id))], [instanceId]);
    for (const reader of [here, there]) {
      assert.ok(!reader.events.some(({ id }) => id === instanceId));
    }
  },
);

scenario("A reader that stalls does not hold up the others", [], async ({ world, caller }) => {
  const [organization] = world.organizations;
  await using intruder = await openIntruder(world);
  using stalled = await stallAtEvents(world.baseUrl, organization.keys.viewer);
  await using reader = await readEvents(world.baseUrl, organization.keys.viewer);
  const subject = `org.${parseId("organization", organization.organizationId)!}.changed`;
  const flood = 100_000;
  for (let i = 0; i < flood; i++) {
    intruder.fabric.publish(
      subject,
      JSON.stringify({ type: "changed", record: "instance", id: `ins_${i}` }),
    );
    if (i % 5_000 === 0) await intruder.fabric.flush();
  }
  await intruder.fabric.flush();
  const since = performance.now();
  using host = await startDeafHost(caller, world.baseUrl);
  const event = await reader.until("it came", ({ id }) => id === host.instanceId, { since });
  tellTimes("an event while another reader is stalled", [event.at - since], 2_000);
  const text = await stalled.readUntil("event: resync");
  const told = text.split("event: changed").length - 1;
  tell(`the stalled reader got ${told} of ${flood} events and then a resync`);
  assert.ok(told < flood);
});

scenario("After a loss of the fabric viewers receive a resync", [], async ({ world }) => {
  const [organization] = world.organizations;
  await using here = await readEvents(world.nodes[0]!.baseUrl, organization.keys.viewer);
  await using there = await readEvents(world.nodes[1]!.baseUrl, organization.keys.viewer);
  const since = performance.now();
  await world.nats!.servers[0]!.restart();
  const delays = [];
  for (const reader of [here, there]) {
    const resync = await reader.until("resync", ({ type }) => type === "resync", { since });
    delays.push(resync.at - since);
  }
  tellTimes("the fabric restarted, viewers sent a resync", delays);
  // The edge's own connection may be back a moment later.
  await until(
    "the node is ready",
    5_000,
    () => request(world.baseUrl, "/readyz"),
    ({ status }) => status === 200,
  );
});
