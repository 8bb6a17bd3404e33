// Pairing: a token pairs one host, once, on any node, and never after it has expired or been replaced.
import assert from "node:assert/strict";
import { moveClock } from "@hawser/testkit/clock.ts";
import { startDeafHost, tryPair } from "@hawser/testkit/deaf-host.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { watchPresence } from "@hawser/testkit/presence-watch.ts";
import { tell } from "../figures.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ nodes: 3, hosts: 1 });

scenario(
  "Of 200 pairings at once over three nodes one wins, and every later one is refused",
  ["record.pairingToken.once"],
  async ({ caller, world }) => {
    const { instance, pairingToken } = await caller.create_instance({ name: "wanted" });
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, i) => tryPair(world.nodes[i % 3]!.baseUrl, pairingToken)),
    );
    const won = replies.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    assert.equal((won[0]!.body as { instanceId: string }).instanceId, instance.instanceId);
    for (const reply of replies) {
      if (reply.status !== 200) assertRefused(reply, 404, "not_found");
    }
    const again = await tryPair(world.nodes[1]!.baseUrl, pairingToken);
    assertRefused(again, 404, "not_found");
    const keys = await ownerSql(
      world.database.url,
      "SELECT public_key FROM host_keys JOIN instances i USING (organization_id, instance_id) WHERE i.name = 'wanted'",
    );
    assert.equal(keys.length, 1);
    const [trail] = await ownerSql<{ done: string; tried: string }>(
      world.database.url,
      "SELECT count(*) FILTER (WHERE outcome = 'done') AS done, count(*) AS tried FROM audit_entries WHERE action = 'pair_host' AND input ->> 'instanceId' = $1",
      [instance.instanceId],
    );
    assert.deepEqual({ ...trail }, { done: "1", tried: "201" });
    tell(
      "200 pairings at once over 3 nodes: 1 identity, 199 and a replay refused, 201 in the trail",
    );
  },
);

scenario(
  "A new token pairs a host, and the old token is refused at once on every node",
  ["regenerate_pairing_token.result", "regenerate_pairing_token.revokes"],
  async ({ caller, world }) => {
    const made = await caller.create_instance({ name: "paired anew" });
    const { instanceId } = made.instance;
    const fresh = await caller.regenerate_pairing_token({ instanceId });
    assert.notEqual(fresh.pairingToken, made.pairingToken);
    assert.ok(fresh.installCommand.includes(fresh.pairingToken));
    for (const { baseUrl } of world.nodes) {
      assertRefused(await tryPair(baseUrl, made.pairingToken), 404, "not_found");
    }
    const paired = await tryPair(world.nodes[2]!.baseUrl, fresh.pairingToken);
    assert.equal(paired.status, 200);
    assert.equal((paired.body as { instanceId: string }).instanceId, instanceId);
    // The host is paired and has never connected.
    const shown = await caller.get_instance({ instanceId });
    assert.equal(shown.status, "pairing");
    assert.ok(shown.pairedAt! > shown.createdAt, shown.pairedAt ?? "null");
  },
);

scenario(
  "A paired host stays connected while a new token is made for its instance",
  [],
  async ({ caller, world }) => {
    const { instanceId } = world.hosts[0]!;
    await using watch = watchPresence(caller);
    await watch.until("online", [instanceId], ({ status }) => status === "online");
    const calls = Array.from({ length: 20 }, () => caller.refresh_instance({ instanceId }));
    for (let i = 0; i < 5; i++) await caller.regenerate_pairing_token({ instanceId });
    await Promise.all(calls);
    await caller.refresh_instance({ instanceId });
    assert.deepEqual([...new Set(watch.seen(instanceId).map(({ status }) => status))], ["online"]);
  },
);

scenario(
  "A machine that redeems a new token replaces the first host, which is disconnected at once",
  [],
  async ({ caller, world }) => {
    using first = await startDeafHost(caller, world.baseUrl);
    const { instanceId } = first;
    await until(
      "it is shown online",
      30_000,
      () => caller.get_instance({ instanceId }),
      ({ status }) => status === "online",
    );
    const { pairingToken } = await caller.regenerate_pairing_token({ instanceId });
    const since = performance.now();
    assert.equal((await tryPair(world.baseUrl, pairingToken)).status, 200);
    const took = (await first.closed) - since;
    tell(`a replaced host cut off: ${(took / 1000).toFixed(3)} s`);
    assert.ok(took < 1_000, `${took} ms`);
    assert.equal(await first.dialAgain(), "refused");
    await until(
      "it is shown offline",
      5_000,
      () => caller.get_instance({ instanceId }),
      ({ status, statusReason }) => status === "offline" && statusReason === "revoked",
    );
  },
);

scenario(
  "A token works until 15 minutes after it was made, by the database's clock",
  ["record.pairingToken.ttl"],
  async ({ caller, world }) => {
    const { url } = world.database;
    try {
      const inTime = await caller.create_instance({ name: "in time" });
      await moveClock(url, 15 * 60 - 1);
      assert.equal((await tryPair(world.baseUrl, inTime.pairingToken)).status, 200);
      await moveClock(url, 0);
      const late = await caller.create_instance({ name: "late" });
      await moveClock(url, 15 * 60 + 1);
      assertRefused(await tryPair(world.baseUrl, late.pairingToken), 404, "not_found");
    } finally {
      await moveClock(url, 0);
    }
  },
);
