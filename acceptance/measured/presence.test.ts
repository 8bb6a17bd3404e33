// How soon it is seen that hosts are gone, with many of them at once: killed, stopped, and removed.
import assert from "node:assert/strict";
import { startDeafHost } from "@hawser/testkit/deaf-host.ts";
import { runDaemon } from "@hawser/testkit/host.ts";
import { startLightHosts } from "@hawser/testkit/light-hosts.ts";
import {
  watchPresence,
  type PresenceWatch,
  type Sighting,
} from "@hawser/testkit/presence-watch.ts";
import { tellTimes } from "../figures.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ hosts: 1, environment: { HAWSER_RATE_PER_SECOND: "2000", HAWSER_RATE_BURST: "2000" } });

const many = 50;

const isOnline = ({ status }: Sighting) => status === "online";
const isOffline = ({ status }: Sighting) => status === "offline";

/** The reasons shown for these instances, each once. */
function reasons(watch: PresenceWatch, instanceIds: string[]): (string | null)[] {
  return [...new Set(instanceIds.map((id) => watch.seen(id).at(-1)!.statusReason))];
}

scenario(
  "Hosts that are killed are shown offline within a second, fifty at once and one by one",
  ["instance.status.online", "instance.status.offline"],
  async ({ world, caller }) => {
    await using watch = watchPresence(caller);
    await using light = await startLightHosts(caller, world.baseUrl, many);
    await watch.until("online", light.instanceIds, isOnline);

    let since = performance.now();
    process.kill(light.pid, "SIGKILL");
    const times = await watch.until("offline", light.instanceIds, isOffline, { since });
    assert.deepEqual(reasons(watch, light.instanceIds), ["link_lost"]);
    tellTimes("fifty killed at once, shown offline", times, 1_000);

    const { instanceId, stateDirectory, process: first } = world.hosts[0]!;
    const each: number[] = [];
    let daemon: { process: typeof first } = { process: first };
    for (let i = 0; i < 5; i++) {
      await watch.until("online", [instanceId], isOnline);
      since = performance.now();
      daemon.process.kill("SIGKILL");
      each.push(...(await watch.until("offline", [instanceId], isOffline, { since })));
      await caller.regenerate_pairing_token({ instanceId });
      assert.equal((await caller.get_instance({ instanceId })).status, "offline");
      daemon = runDaemon(stateDirectory);
    }
    const isLinked = () => caller.try("refresh_instance", { instanceId });
    await until("it takes commands", 10_000, isLinked, ({ status }) => status === 200);
    daemon.process.kill("SIGTERM");
    await watch.until(
      "offline",
      [instanceId],
      ({ statusReason }) => statusReason === "daemon_stopped",
    );
    tellTimes("a daemon killed, shown offline", each, 1_000);
    const statuses = watch.seen(instanceId).map(({ status }) => status);
    assert.ok(!statuses.includes("pairing"));
  },
);

scenario(
  "A host that was removed is cut off within a second, whether or not it listens",
  ["delete_instance.token"],
  async ({ world, caller }) => {
    const trial = async (what: string, listens: boolean) => {
      const hosts = await Promise.all(
        Array.from({ length: 20 }, () => startDeafHost(caller, world.baseUrl, { listens })),
      );
      const times = await Promise.all(
        hosts.map(async ({ instanceId, closed }) => {
          const since = performance.now();
          const deleted = caller.delete_instance({ instanceId });
          const at = await closed;
          await deleted;
          return at - since;
        }),
      );
      const refused = await Promise.all(hosts.map((host) => host.dialAgain()));
      assert.deepEqual([...new Set(refused)], ["refused"]);
      tellTimes(`twenty removed that ${what}, cut off`, times, 1_000);
    };
    await trial("take no commands", false);
    await trial("take the command to stop and do nothing", true);
  },
);
