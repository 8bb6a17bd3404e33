// Tokens of hosts run out all the time, here after ten seconds: renewed while linked without a moment
// offline, and from nothing after a long sleep or with a clock that is days wrong.
import assert from "node:assert/strict";
import { runDaemon } from "@hawser/testkit/host.ts";
import { readEvents } from "@hawser/testkit/event-reader.ts";
import { startLightHosts } from "@hawser/testkit/light-hosts.ts";
import { watchPresence } from "@hawser/testkit/presence-watch.ts";
import { tell, tellTimes } from "../figures.ts";
import { scenario, until, useWorld } from "../scenario.ts";

const tokenSeconds = 10;

useWorld({
  hosts: 1,
  environment: {
    HAWSER_HOST_TOKEN_SECONDS: String(tokenSeconds),
    HAWSER_RATE_PER_SECOND: "2000",
    HAWSER_RATE_BURST: "2000",
  },
});

const count = 34;
const wanted = 100;
const twoDaysMs = 2 * 24 * 3600_000;

interface Listed {
  authorized_user: string;
  name: string;
  reason?: string;
}

let stoppedAt = 0;

scenario(
  "A hundred renewals are not to be seen, and no command fails meanwhile",
  [],
  async ({ caller, world }) => {
    // Sleeps until the next scenario.
    stoppedAt = performance.now();
    world.hosts[0]!.process.kill("SIGKILL");

    await using watch = watchPresence(caller);
    await using light = await startLightHosts(caller, world.baseUrl, count);
    await watch.until("online", light.instanceIds, ({ status }) => status === "online");
    const ours = new Set(light.instanceIds);
    /** Every connection of these hosts, those that are closed as well. */
    const connections = async () => {
      const { monitorUrl } = world.nats!.servers[0]!;
      const response = await fetch(`${monitorUrl}/connz?state=all&auth=true&limit=10000`);
      const listed = ((await response.json()) as { connections: Listed[] }).connections;
      return listed.filter(({ name }) => ours.has(name));
    };
    while ((await light.states()).some((state) => state !== "online"));
    await using reader = await readEvents(world.baseUrl, caller.key);
    const answers: number[] = [];
    const deadline = performance.now() + 60_000;
    while ((await connections()).length < count + wanted) {
      assert.ok(
        performance.now() < deadline,
        `${(await connections()).length} connections in 60 s`,
      );
      for (const instanceId of light.instanceIds) {
        const since = performance.now();
        const reply = await caller.try("refresh_instance", { instanceId });
        assert.equal(reply.status, 200, reply.text);
        answers.push(performance.now() - since);
      }
    }
    const all = await connections();
    const reasons = [...new Set(all.map(({ reason }) => reason ?? "open"))].sort();
    tell(
      `${all.length - count} renewals of ${count} hosts, their connections ended by: ${reasons.join(", ")}`,
    );
    tellTimes("commands during renewals, none failed", answers);
    assert.ok(!reasons.includes("Authentication Expired"), reasons.join());
    for (const id of light.instanceIds) {
      const seen = watch.seen(id).filter(({ status }) => status !== "pairing");
      assert.deepEqual(
        seen.map(({ status, statusReason }) => [status, statusReason]),
        [["online", null]],
      );
    }
    assert.ok(!reader.events.some(({ type }) => type === "resync"));
    tell(`events during renewals: ${reader.events.length}`);
  },
);

scenario(
  "A daemon whose token ran out while it was stopped is back without pairing again",
  [],
  async ({ caller, world }) => {
    const { instanceId, stateDirectory } = world.hosts[0]!;
    assert.ok(performance.now() - stoppedAt > (tokenSeconds + 2) * 1000, "the token has run out");
    const back = async (environment: Record<string, string>) => {
      await using watch = watchPresence(caller);
      await watch.until("offline", [instanceId], ({ status }) => status === "offline");
      const since = performance.now();
      await using _daemon = runDaemon(stateDirectory, environment);
      const [took] = await watch.until(
        "online",
        [instanceId],
        ({ status }) => status === "online",
        {
          since,
        },
      );
      // A host is shown online shortly before it accepts commands.
      const ask = () => caller.try("refresh_instance", { instanceId });
      await until("it accepts commands", 10_000, ask, ({ status }) => status === 200);
      return took!;
    };
    const took = await back({});
    tellTimes("a daemon stopped for longer than its token lives, online", [took], 10_000);

    for (const shift of [twoDaysMs, -twoDaysMs]) {
      const wrong = {
        NODE_OPTIONS: `--import ${import.meta.resolve("@hawser/testkit/shifted-clock.ts")}`,
        SHIFTED_CLOCK_MS: String(shift),
      };
      const shifted = await back(wrong);
      const days = shift / 24 / 3600_000;
      tellTimes(`a daemon whose clock is ${days} days wrong, online`, [shifted], 10_000);
    }
  },
);
