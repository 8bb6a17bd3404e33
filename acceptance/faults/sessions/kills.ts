// The faults of a run of sessions: nodes, the daemon, agents, NATS and viewers are killed or cut, one at a
// time. The seed chooses when and in which order.
import { setTimeout as sleep } from "node:timers/promises";
import { killProcess } from "@hawser/testkit/processes.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import type { Random } from "../../fuzz/random.ts";
import { between } from "../fault.ts";
import type { SessionsBed } from "./bed.ts";
import type { Viewer } from "./viewer.ts";

export type KillKind = "node" | "daemon" | "agent" | "nats" | "viewers" | "host link";

interface Scene {
  bed: SessionsBed;
  viewers: readonly Viewer[];
  random: Random;
  /** How long a killed part is down. */
  downMs: number;
}

/** Each injects a fault once, undoes it before it resolves, and returns a description. */
const kills: Record<KillKind, (scene: Scene) => Promise<string>> = {
  async node({ bed, random }) {
    const node = random.pick(bed.nodes());
    await stopProcess(node.process, "SIGKILL");
    await bed.addNode();
    return `node ${node.pid} killed`;
  },
  async daemon({ bed, random, downMs }) {
    const { host } = random.pick(bed.hosts);
    await host.kill();
    await sleep(downMs);
    host.start();
    return `the daemon of ${host.instanceId} killed, back after ${downMs} ms`;
  },
  async agent({ bed, random }) {
    const { host } = random.pick(bed.hosts);
    const kind = random.pick(bed.kinds);
    const agents = host.agents(kind);
    for (const { pid } of agents) killProcess(pid);
    return `${agents.length} programs of ${kind} of ${host.instanceId} killed`;
  },
  async nats({ bed, downMs }) {
    const [server] = bed.world.nats!.servers;
    await server!.kill();
    await sleep(downMs);
    await server!.restart();
    return `NATS killed, back after ${downMs} ms`;
  },
  async viewers({ viewers, random }) {
    const victims = viewers.filter(() => random.oneIn(2));
    for (const viewer of victims) viewer.cut();
    return `${victims.length} viewers cut`;
  },
  async "host link"({ bed, random, downMs }) {
    const { host, proxy } = random.pick(bed.hosts);
    const isHalfOpen = random.oneIn(2);
    if (isHalfOpen) proxy.freeze();
    else proxy.cut();
    await sleep(downMs);
    proxy.heal();
    return `${host.instanceId} ${isHalfOpen ? "half-open" : "cut off"} for ${downMs} ms`;
  },
};

export const everyKind = Object.keys(kills) as KillKind[];

export function kill(
  kind: KillKind,
  bed: SessionsBed,
  viewers: readonly Viewer[],
  random: Random,
): Promise<string> {
  const downMs = random.oneIn(2) ? 0 : between(random, 1, 2_000);
  return kills[kind]({ bed, viewers, random, downMs });
}
