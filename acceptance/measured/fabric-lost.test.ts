// The fabric goes down, and comes back with or without its disk: what is answered meanwhile, who comes
// back, and who must not.
import assert from "node:assert/strict";
import { request } from "@hawser/testkit/caller.ts";
import { startDeafHost } from "@hawser/testkit/deaf-host.ts";
import { startLightHosts } from "@hawser/testkit/light-hosts.ts";
import { watchPresence, type Sighting } from "@hawser/testkit/presence-watch.ts";
import { tell, tellTimes } from "../figures.ts";
import { refusalOf } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ nats: 1, environment: { HAWSER_RATE_PER_SECOND: "2000", HAWSER_RATE_BURST: "2000" } });

const count = 20;
const online = ({ status, statusReason }: Sighting) => status === "online" && !statusReason;

scenario(
  "Without a fabric a node says so, refuses fast, and has its hosts back within 30 s of its return",
  [],
  async ({ caller, world }) => {
    const [server] = world.nats!.servers;
    await using watch = watchPresence(caller);
    await using light = await startLightHosts(caller, world.baseUrl, count);
    await watch.until("online", light.instanceIds, online);
    while ((await light.states()).some((state) => state !== "online"));
    const ready = () => request(world.baseUrl, "/readyz");

    let since = performance.now();
    await server!.kill();
    await until("the node is not ready", 15_000, ready, ({ status }) => status === 503);
    tell(
      `nats-server killed, /readyz 503 after ${((performance.now() - since) / 1000).toFixed(3)} s`,
    );
    const answers: number[] = [];
    const codes = new Set<string>();
    for (const instanceId of light.instanceIds) {
      const asked = performance.now();
      codes.add(refusalOf(await caller.try("refresh_instance", { instanceId })).code);
      answers.push(performance.now() - asked);
    }
    tellTimes(`commands without a fabric (${[...codes].join()})`, answers, 2_000);
    for (const code of codes) assert.ok(["unavailable", "host_offline"].includes(code), code);
    assert.equal((await caller.try("list_instances")).status, 200);

    since = performance.now();
    await server!.restart();
    await until("the node is ready", 15_000, ready, ({ status }) => status === 200);
    const answering = await Promise.all(
      light.instanceIds.map(async (instanceId) => {
        const ask = () => caller.try("refresh_instance", { instanceId });
        await until("it answers", 30_000, ask, ({ status }) => status === 200);
        return performance.now() - since;
      }),
    );
    tellTimes("hosts answer again after the fabric's return", answering, 30_000);
    const shown = await watch.until("online", light.instanceIds, online);
    assert.equal(shown.length, count);

    // True, and not merely left over: when the hosts go, it shows.
    since = performance.now();
    process.kill(light.pid, "SIGKILL");
    const gone = await watch.until("offline", light.instanceIds, (s) => s.status === "offline", {
      since,
    });
    tellTimes("killed after that, shown offline", gone, 1_000);
  },
);

scenario(
  "A fabric that lost its disks lets no removed host in, and all the others",
  ["delete_instance.token"],
  async ({ caller, world }) => {
    const [server] = world.nats!.servers;
    await using watch = watchPresence(caller);
    await using light = await startLightHosts(caller, world.baseUrl, count);
    await watch.until("online", light.instanceIds, online);
    while ((await light.states()).some((state) => state !== "online"));
    const deaf = await Promise.all(
      Array.from({ length: 5 }, () => startDeafHost(caller, world.baseUrl)),
    );
    await Promise.all(deaf.map(({ instanceId }) => caller.delete_instance({ instanceId })));
    await Promise.all(deaf.map(({ closed }) => closed));

    let tries = 0;
    const ended = new AbortController();
    const trying = (async () => {
      const outcomes = new Set<string>();
      while (!ended.signal.aborted) {
        for (const host of deaf) {
          outcomes.add(await host.dialAgain());
          tries += 1;
        }
      }
      return [...outcomes];
    })();
    const since = performance.now();
    await server!.restart({ wipe: true });
    const back = await Promise.all(
      light.instanceIds.map(async (instanceId) => {
        const ask = () => caller.try("refresh_instance", { instanceId });
        await until("it answers", 30_000, ask, ({ status }) => status === 200);
        return performance.now() - since;
      }),
    );
    ended.abort();
    assert.deepEqual(await trying, ["refused"]);
    tellTimes("hosts answer again after the fabric lost its disks", back);
    tell(`removed hosts with good tokens were refused ${tries} times of ${tries}`);
    await watch.until("online", light.instanceIds, online);
  },
);
