// NATS accepts no list of revoked hosts for a while: hosts are removed all the same, and stay out afterwards.
import assert from "node:assert/strict";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "@hawser/testkit/caller.ts";
import { dialRaw, startDeafHost } from "@hawser/testkit/deaf-host.ts";
import type { World } from "@hawser/testkit/world.ts";
import { tell } from "../figures.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ nats: 1 });

async function failuresOf({ nodes }: World): Promise<number> {
  const { text } = await request(nodes[0]!.metricsUrl, "/metrics");
  return Number(/^hawser_revocation_push_failures (\d+)$/m.exec(text)?.[1]);
}

scenario(
  "While NATS stores no revocations, instances are removed, their hosts are disconnected, and nodes start",
  ["delete_instance.token"],
  async ({ caller, world }) => {
    using host = await startDeafHost(caller, world.baseUrl);
    const store = join(world.nats!.directory, "n1");
    renameSync(store, `${store}-away`);
    writeFileSync(store, "");
    const since = performance.now();
    const reply = await caller.try("delete_instance", { instanceId: host.instanceId });
    assert.equal(reply.status, 200, reply.text);
    const outMs = (await host.closed) - since;
    tell(`a host removed while NATS stores no revocations, cut off: ${outMs.toFixed(0)} ms`);
    assert.ok(outMs < 1_000);
    assert.ok((await failuresOf(world)) > 0);

    // The removed host can connect again. The node then disconnects it again, possibly before it answers.
    const again = performance.now();
    const link = await dialRaw(world.baseUrl, host.key, host.token).catch(() => undefined);
    assert.ok(((await link?.closed) ?? again) - again < 1_000);
    await using _node = await world.addNode();

    rmSync(store);
    renameSync(`${store}-away`, store);
    await until(
      "the push has succeeded",
      30_000,
      () => failuresOf(world),
      (failures) => failures === 0,
    );
    assert.equal(await host.dialAgain(), "refused");
  },
);
