// Many hosts were removed within the life of their tokens, more than the list of revoked hosts has room for.
// Removing an instance and starting a node must still work, and every removed host must be disconnected at
// once, whether the list names it or not.
import { request } from "@hawser/testkit/caller.ts";
import { dialRaw, startDeafHost, type DeafHost } from "@hawser/testkit/deaf-host.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { insertRevokedKeys } from "@hawser/testkit/revoked-keys.ts";
import type { World } from "@hawser/testkit/world.ts";
import { atMost, atLeast, reported, type Figure } from "./figure.ts";
import { openScaleWorld, say } from "./stage.ts";

export interface RevocationsSize {
  /** Hosts that were removed before. */
  revoked: number;
  /** Hosts that are removed now, one after the other. */
  hosts: number;
}

export const revocationsSizes: Record<"large" | "small", RevocationsSize> = {
  large: { revoked: 50_000, hosts: 20 },
  // A little more than there is room for.
  small: { revoked: 12_000, hosts: 3 },
};

/** The server reads a new list some time after the removal is answered. */
const listMs = 10_000;

export async function measureRevocations(size: RevocationsSize): Promise<Figure[]> {
  await using world = await openScaleWorld();
  const { caller } = world;
  const { instance } = await caller.create_instance({ name: "had many hosts" });
  say(`${size.revoked} hosts were removed; more are removed one by one`);
  await insertRevokedKeys(world, instance.instanceId, size.revoked);
  const deletes: { status: number; tookMs: number }[] = [];
  const remove = async (instanceId: string) => {
    const since = performance.now();
    const { status } = await caller.try("delete_instance", { instanceId });
    deletes.push({ status, tookMs: performance.now() - since });
    return since;
  };
  await remove(instance.instanceId);

  const startedAt = performance.now();
  const started = await world.addNode().then(
    () => 1,
    () => 0,
  );
  const startMs = performance.now() - startedAt;

  const outMs: number[] = [];
  const omittedOutMs: number[] = [];
  let refused = 0;
  for (let i = 0; i < size.hosts; i++) {
    // Every second one receives the command to forget and ignores it.
    using host = await startDeafHost(caller, world.baseUrl, { listens: i % 2 === 1 });
    const since = await remove(host.instanceId);
    outMs.push((await host.closed) - since);
    if ((await host.dialAgain()) === "refused") refused += 1;
    omittedOutMs.push(await connectOmitted(world, host, remove));
  }
  const shown = await readMetrics(world);
  const name = (rest: string) => `revocations_${rest}`;
  return [
    atMost(name("failed_deletes"), deletes.filter(({ status }) => status !== 200).length, 0),
    reported(name("delete_ms"), Math.max(...deletes.map(({ tookMs }) => tookMs))),
    atLeast(name("started_nodes"), started, 1),
    reported(name("node_start_ms"), startMs),
    atMost(name("removed_host_out_ms"), Math.max(...outMs), 1_000),
    atMost(name("removed_hosts_admitted_again"), size.hosts - refused, 0),
    atMost(name("omitted_host_out_ms"), Math.max(...omittedOutMs), 1_000),
    reported(name("listed"), shown("hawser_revocations")),
    reported(name("omitted"), shown("hawser_revocations_omitted")),
    reported(name("bytes"), shown("hawser_revocation_bytes")),
  ];
}

/**
 * Makes a removed host the one that was removed first, so that the list no longer names it, and connects it
 * again with its token. Returns how long it stays connected.
 */
async function connectOmitted(
  { caller, baseUrl, database }: World,
  { key, token }: DeafHost,
  remove: (instanceId: string) => Promise<unknown>,
): Promise<number> {
  await ownerSql(
    database.url,
    "UPDATE host_keys SET revoked_at = revoked_at - interval '1 hour' WHERE public_key = $1",
    [key.publicKey],
  );
  const { instance } = await caller.create_instance({ name: "never paired" });
  await remove(instance.instanceId);
  const deadline = performance.now() + listMs;
  for (;;) {
    const since = performance.now();
    try {
      const link = await dialRaw(baseUrl, key, token);
      return (await link.closed) - since;
    } catch (error) {
      // The connection may be ended before its first answer.
      if ((error as Error).message === "closed") return performance.now() - since;
      // A refusal means that the server still has the list that names the host.
      if (since > deadline) throw error;
    }
  }
}

/** The metrics of the node that removes the hosts. */
async function readMetrics({ nodes }: World): Promise<(name: string) => number> {
  const { text } = await request(nodes[0]!.metricsUrl, "/metrics");
  return (name) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}
