// F2 light: the node that many hosts are linked through is killed -9. They come back through another,
// and whoever watches sees them move, not leave.
import assert from "node:assert/strict";
import { startCuttingProxy } from "@hawser/testkit/cutting-proxy.ts";
import { startLightHosts } from "@hawser/testkit/light-hosts.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { watchPresence } from "@hawser/testkit/presence-watch.ts";
import { tell, tellTimes } from "../figures.ts";
import { scenario, until, useWorld } from "../scenario.ts";

const count = process.env["HAWSER_LONG"] ? 500 : 100;

useWorld({
  nodes: 2,
  nats: 1,
  environment: { HAWSER_RATE_PER_SECOND: "2000", HAWSER_RATE_BURST: "2000" },
});

scenario(
  "Hosts whose edge is killed are shown moving and never offline, and are back within 15 s",
  [],
  async ({ caller, world }) => {
    const [here, there] = world.nodes;
    const portOf = (url: string) => Number(new URL(url).port);
    const target = { port: portOf(there!.baseUrl) };
    await using balancer = await startCuttingProxy(target);
    await using watch = watchPresence(caller);
    const address = `http://127.0.0.1:${balancer.port}`;
    await using light = await startLightHosts(caller, address, count);
    const online = ({ status, statusReason }: { status: string; statusReason: string | null }) =>
      status === "online" && statusReason === null;
    await watch.until("online", light.instanceIds, online, { patienceMs: 60_000 });
    while ((await light.states()).some((state) => state !== "online"));

    const connections = async () => {
      const { monitorUrl } = world.nats!.servers[0]!;
      const response = await fetch(`${monitorUrl}/connz?limit=10000`);
      const listed = ((await response.json()) as { connections: { cid: number; name?: string }[] })
        .connections;
      return listed.filter(({ name }) => name?.startsWith("ins_")).map(({ cid }) => cid);
    };
    const last = Math.max(...(await connections()));

    const since = performance.now();
    there!.process.kill("SIGKILL");
    target.port = portOf(here!.baseUrl);
    // Some are back before anyone could see them move.
    const areNew = (ids: number[]) => ids.length === count && Math.min(...ids) > last;
    await until("all are linked", 30_000, connections, areNew);
    const linked = performance.now() - since;
    await watch.until("back", light.instanceIds, online, { patienceMs: 30_000 });
    const after = (id: string) => watch.seen(id).filter(({ at }) => at > since);
    const moved = light.instanceIds.filter((id) =>
      after(id).some(({ statusReason }) => statusReason === "moving"),
    );
    const offline = light.instanceIds.filter((id) =>
      after(id).some(({ status }) => status === "offline"),
    );
    tellTimes(
      `${count} hosts of a killed edge, shown back`,
      light.instanceIds.map((id) => (after(id).at(-1)?.at ?? since) - since),
      15_000,
    );
    tell(
      `the last is linked after ${(linked / 1000).toFixed(3)} s; shown moving ${moved.length}, offline ${offline.length}`,
    );
    assert.deepEqual(offline.map(after), []);
    assert.ok(moved.length > count / 2);

    // What is kept of connections is true: none that died with the edge is left.
    const kept = async () => {
      const rows = await ownerSql<{ client_id: string }>(
        world.database.url,
        "SELECT client_id FROM host_connections",
      );
      const there = new Set(await connections());
      return rows.filter(({ client_id }) => !there.has(Number(client_id))).length;
    };
    tell(`connections kept that are none: ${await kept()}`);
    // The events that the dead node was given are made good once it is known to be dead.
    await until("only living connections are kept", 25_000, kept, (dead) => dead === 0);
    const replies = await Promise.all(
      light.instanceIds.map((instanceId) => caller.try("refresh_instance", { instanceId })),
    );
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200]);
  },
);
