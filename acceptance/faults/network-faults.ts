// Network faults: between hosts and nodes, between a node and NATS, and messages that arrive twice, late or
// in another order.
import { setTimeout as sleep } from "node:timers/promises";
import { startFabricReplayer } from "@hawser/testkit/fabric-replayer.ts";
import type { CuttingProxy } from "@hawser/testkit/cutting-proxy.ts";
import type { Random } from "../fuzz/random.ts";
import type { BedHost } from "./bed.ts";
import { between, type Fault } from "./fault.ts";

export const hostCut: Fault = {
  id: "F6",
  title: "hosts cut off: clean, half-open, one way, stalls of 0.2 to 3 s, 2 s of delay",
  async open({ bed, random }) {
    return {
      async inject() {
        const victims = bed.hosts.filter(() => random.oneIn(2));
        const told = victims.map(async ({ host, proxy }: BedHost) => {
          return `${host.instanceId} ${await disturb(proxy, random)}`;
        });
        return (await Promise.all(told)).join("; ") || "nothing";
      },
      heal: () => Promise.resolve(),
    };
  },
};

type Disturbance = (proxy: CuttingProxy, random: Random) => Promise<string>;

const disturbances: Disturbance[] = [
  async (proxy, random) => {
    const ms = between(random, 0, 4_000);
    proxy.cut();
    await sleep(ms);
    return `cut for ${ms} ms`;
  },
  async (proxy, random) => {
    // After about 24 s both ends notice it; that needs a longer run.
    const ms = between(random, 1_000, random.oneIn(8) ? 30_000 : 6_000);
    proxy.freeze();
    await sleep(ms);
    return `half-open for ${ms} ms`;
  },
  async (proxy, random) => {
    const ms = between(random, 500, 5_000);
    const direction = random.pick(["up", "down"] as const);
    proxy.freeze(direction);
    await sleep(ms);
    // Half of the time the connection is cut, and the held bytes are lost.
    if (random.oneIn(2)) proxy.cut();
    return `nothing ${direction} for ${ms} ms`;
  },
  async (proxy, random) => {
    const stalls = between(random, 1, 4);
    for (let i = 0; i < stalls; i++) {
      proxy.freeze();
      await sleep(between(random, 200, 3_000));
      proxy.heal();
      await sleep(between(random, 50, 500));
    }
    return `${stalls} stalls`;
  },
  async (proxy, random) => {
    const ms = between(random, 2_000, 5_000);
    proxy.delay(2_000);
    await sleep(ms);
    return `2 s of delay for ${ms} ms`;
  },
];

async function disturb(proxy: CuttingProxy, random: Random): Promise<string> {
  const told = await random.pick(disturbances)(proxy, random);
  proxy.heal();
  return told;
}

/** What a balancer needs to see. */
const longestInRotationMs = 15_000;

export const nodeWithoutNats: Fault = {
  id: "F7",
  title: "a node cut off from NATS alone, clean and half-open",
  proxiedNode: true,
  async open({ bed, random, broken }) {
    const node = bed.world.nodes[1]!;
    const isReady = () =>
      fetch(`${node.baseUrl}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
        ({ ok }) => ok,
        () => false,
      );
    const heal = () => {
      for (const proxy of bed.fabricProxies) proxy.heal();
      return Promise.resolve();
    };
    return {
      heal,
      async inject() {
        const kind = random.pick(["cut", "half-open"] as const);
        const started = Date.now();
        for (const proxy of bed.fabricProxies) {
          if (kind === "cut") proxy.cut();
          else proxy.freeze();
        }
        const restMs = between(random, 0, 3_000);
        while (await isReady()) {
          if (Date.now() - started > longestInRotationMs) {
            broken.push(`a node without NATS (${kind}) was still in rotation after 15 s`);
            break;
          }
          await sleep(50);
        }
        const seenMs = Date.now() - started;
        await sleep(restMs);
        await heal();
        return `${kind}, out of rotation after ${seenMs} ms, healed ${restMs} ms later`;
      },
    };
  },
};

export const deliveredAgain: Fault = {
  id: "F11",
  title: "commands and reports delivered again: twice, late, out of order, to the wrong host",
  async open({ bed, random }) {
    const replayer = bed.parts.use(await startFabricReplayer(bed.world));
    return {
      async inject() {
        const count = between(random, 1, 40);
        const places = Array.from({ length: count }, () => random.below(1_000_000) / 1_000_000);
        const order = { places, twice: random.oneIn(2), astray: random.oneIn(4) };
        const said = await replayer.replay(order);
        return `${said} messages again${order.astray ? ", commands to the wrong host" : ""}`;
      },
      heal: () => Promise.resolve(),
      async replies() {
        await replayer.replayAll();
        return (await replayer.replayed()).flatMap(({ subject, command, reply }) => {
          if (!command) return [];
          const { commandId, outcome } = JSON.parse(reply) as {
            commandId: string;
            outcome: unknown;
          };
          return [{ instanceId: subject.split(".")[1]!, commandId, outcome }];
        });
      },
    };
  },
};
