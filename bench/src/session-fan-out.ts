// The figure of fan-out: live text, delivered to 200 viewers of one session by one node, beside a bare
// server that forwards the same NATS messages.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { connectFabric } from "@hawser/control-plane/fabric/connection.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import { liveSubject, type LiveText } from "@hawser/host-protocol";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { sessionStream, startViewers, type Viewers } from "@hawser/testkit/viewers.ts";
import { figureOf, type Figure, type Goal } from "./figure.ts";
import { addLightHosts, openLinkWorld } from "./link-stage.ts";
import { inTurns } from "./rounds.ts";
import { say } from "./stage.ts";
import { ask } from "./workers.ts";

const goal: Goal = {
  name: "session_fan_out",
  unit: "/s",
  goal: 0.5,
  direction: "at least",
  meaning:
    "Live text of one session brought to 200 viewers by one node, deliveries per second, beside a " +
    "bare node:http server that passes the same NATS messages on as server-sent events.",
};

/** Messages published at once, as many as a fast agent writes in a second. */
const burst = 20;

export async function* measureFanOut(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  const viewerCount = quick ? 20 : 200;
  await using world = await openLinkWorld(0);
  await using hosts = await addLightHosts(world, 1);
  const instanceId = hosts.instanceIds[0]!;
  const [sessionId] = await insertSessions(world, world.organizations[0], { instanceId });
  const { keys, urls } = world.nats!;
  const fabric = await connectFabric({ keys, urls, name: "bench", log: createLog("silent") });
  await using _fabric = { [Symbol.asyncDispose]: () => fabric.close() };
  const child = fork(fileURLToPath(new URL("./bare-event-server.ts", import.meta.url)));
  await using _child = { [Symbol.asyncDispose]: () => stopProcess(child) };
  const bareSubject = "bench.bare.live";
  const serve = { keys, urls, subject: bareSubject };
  const bareUrl = await ask<string>(child, { name: "serve", order: serve });

  await using ours = startViewers();
  await using bare = startViewers();
  const { key } = world.caller;
  const many = (url: string) => Array.from({ length: viewerCount }, () => ({ url, key }));
  await ours.open(many(sessionStream(world.baseUrl, sessionId!)));
  await bare.open(many(bareUrl));
  // The node must have subscribed before anything is published.
  await new Promise((resolve) => setTimeout(resolve, 1_000));

  let offset = 0;
  const deliver = async (subject: string, viewers: Viewers) => {
    const startedAt = performance.now();
    const bursts = quick ? 2 : 10;
    for (let i = 0; i < bursts; i++) {
      for (let piece = 0; piece < burst; piece++) {
        const text = "Some words of an answer that is being written. ";
        const live: LiveText = { itemId: "item", turnId: null, kind: "message", offset, text };
        offset += text.length;
        fabric.publish(subject, JSON.stringify(live));
      }
      const count = burst * viewerCount;
      await viewers.frames({ name: "live", count, patienceMs: 30_000 });
    }
    return (bursts * burst * viewerCount * 1_000) / (performance.now() - startedAt);
  };
  say(goal.name);
  const rounds = await inTurns(
    quick ? 1 : 9,
    () => deliver(liveSubject(instanceId, sessionId!), ours),
    () => deliver(bareSubject, bare),
    (a, b) => ({
      round: { ours: a, bare: b },
      text: `${a.toFixed(0)}/s beside ${b.toFixed(0)}/s`,
    }),
  );
  yield [figureOf(goal, rounds), goal];
}
